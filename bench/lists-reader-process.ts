// Reads the same page so many times and writes it out: what a list costs at least.
const [url, count] = process.argv.slice(2);
for (let nth = 0; nth < Number(count); nth += 1) process.stdout.write(await (await fetch(url ?? '')).text());
