// Loaded before the program when a launcher of another Node started it: a launcher that is killed with -9 passes nothing
// on, but the pipe between the two closes. The program then stops as if it had been told to.
import { Socket } from 'node:net';

const LAUNCHER_PIPE = 3;

if (process.env['MUSTER_LAUNCHER'] === String(process.ppid)) {
  // Programs that this one starts are not the launcher's.
  delete process.env['MUSTER_LAUNCHER'];
  const launcher = new Socket({ fd: LAUNCHER_PIPE, readable: true, writable: false });
  launcher.on('error', () => undefined);
  launcher.on('close', () => process.kill(process.pid, 'SIGTERM'));
  launcher.resume();
  launcher.unref();
}
