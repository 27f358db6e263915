import { describe, expect, test } from 'vitest';
import { deployPropertyProblem, imageProblem, isDeployProperty } from './image.ts';

describe('an image', () => {
  test.each([
    'debian',
    'debian-12.raw',
    '4f7c0a52-6d0c-4c4b-9d6a-0f0f2c7a9f51',
    'glance://4f7c0a52-6d0c-4c4b-9d6a-0f0f2c7a9f51',
    'http://images/debian.qcow2',
    'https://images.example:8443/a/b?c=d#e',
    'HTTPS://images/debian',
  ])('may be %s', (image) => {
    expect(imageProblem(image)).toBeUndefined();
  });

  test.each([
    'file:///etc/ironic/ironic.conf',
    'FILE:///etc/passwd',
    'file:/etc/passwd',
    '/etc/passwd',
    '../images/debian',
    'glance://../v2/images',
    'glance://a/b',
    'oci://registry/debian',
    'ftp://images/debian',
    'http:/images',
    'http://',
    'https://images/a b',
    'http://images\\@other/',
    'data:,x',
    '',
    ' debian',
    'debian\n',
  ])('may not be %j', (image) => {
    expect(imageProblem(image)).toBe('must be an id, such as one of Glance, or an http or https address');
  });

  test.each(['http://ann:secret@images/debian', 'https://ann@images/debian'])('never: with a password: %s', (image) => {
    expect(imageProblem(image)).toBe('must not have a user name or a password');
  });
});

describe('a property of an image', () => {
  test.each(['configdrive', 'image_source', 'root_gb', 'traits', 'capabilities', 'os_distro', 'constructor'])(
    'never: %s reaches a deploy',
    (name) => {
      expect(isDeployProperty(name)).toBe(false);
      expect(deployPropertyProblem(name, 'file:///etc/passwd')).toBeUndefined();
    },
  );

  test.each<[string, unknown, boolean]>([
    ['kernel', 'http://images/vmlinuz', true],
    ['kernel', 'file:///boot/vmlinuz', false],
    ['ramdisk', 'initrd', true],
    ['ramdisk', 7, false],
    ['image_type', 'partition', true],
    ['image_type', 'tape', false],
    ['image_checksum', 'd41d8cd98f00b204e9800998ecf8427e', true],
    ['image_checksum', 'http://169.254.169.254/latest', false],
    ['image_os_hash_value', 'file:///etc/shadow', false],
    ['image_os_hash_algo', 'sha512', true],
    ['image_disk_format', 'raw', true],
    ['image_container_format', 'a b', false],
  ])('%s as %j: %s', (name, value, isTaken) => {
    expect(deployPropertyProblem(name, value) === undefined).toBe(isTaken);
  });
});
