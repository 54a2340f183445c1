// Numbers as people read them: by the rules of src/write/number.h, so that text and page write alike.
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const bundle = await build({ entryPoints: [here + "../src/numbers.ts"], bundle: true, write: false, format: "esm" });
const { percent, rate, times, energyText, duration, digits } = await import(
  "data:text/javascript;base64," + Buffer.from(bundle.outputFiles[0].text).toString("base64")
);

const plain = (text) => text.replaceAll("\u202f", " ");
const table = [
  [percent(0), "0 %"], [percent(0.0004), "<0.1 %"], [percent(0.004), "0.4 %"], [percent(0.178), "18 %"], [percent(0.994), "99 %"], [percent(0.0346), "3 %"], [percent(0.0349), "3 %"],
  [percent(0.9951), "99.5 %"], [percent(0.99999), "99.9 %"], [percent(1), "100 %"], [percent(2.5), "250 %"], [percent(-0.25), "−25 %"],
  [rate(0.4249), "0.42"], [rate(9.994), "9.99"], [rate(9.996), "10.0"], [rate(28.24), "28.2"], [rate(99.94), "99.9"], [rate(99.96), "100"],
  [rate(128), "128"], [rate(1023.6), "1'024"], [times(1.178), "1.18×"],
  [energyText(999), "999 fJ"], [energyText(1000), "1.00 pJ"], [energyText(34711142400), "34.7 µJ"], [energyText(23062118400), "23.0 µJ"],
  [energyText(999499999), "999 nJ"], [energyText(999500000), "999 nJ"], [energyText(44689363633600), "44.6 mJ"],
  [duration(9650, 1000), "9.65 µs"], [duration(7944650, 1000), "7.94 ms"], [duration(1, 1000), "1.00 ns"], [duration(999600, 1000), "1.00 ms"],
  [digits(1234567), "1'234'567"],
];
for (const [got, want] of table)
  if (plain(got) !== want) {
    console.error(`'${plain(got)}', not '${want}'`);
    process.exitCode = 1;
  }
