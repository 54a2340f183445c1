// Pixels of a part of a canvas, composed in memory and put there at once: tens of thousands of small rectangles would
// take longer. All places are device pixels.
import { SIDE } from "./theme";

export class Raster {
  readonly words: Uint32Array;
  left = 0; // on the canvas
  top = 0;
  private readonly image: ImageData;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.image = new ImageData(width, height);
    this.words = new Uint32Array(this.image.data.buffer);
  }

  /** One of a size: `known`, when it has it. */
  static of(known: Raster | null, width: number, height: number): Raster {
    return known?.width === width && known.height === height ? known : new Raster(width, height);
  }

  /** Fills columns [x0, x1) of lines [y0, y1); what lies outside is left out. */
  fill(x0: number, x1: number, y0: number, y1: number, word: number): void {
    const { width, words } = this;
    const [from, to] = [Math.max(0, x0), Math.min(width, x1)];
    const [top, bottom] = [Math.max(0, y0), Math.min(this.height, y1)];
    if (to - from === width) words.fill(word, top * width, Math.max(top, bottom) * width);
    else if (to > from) for (let y = top; y < bottom; y++) words.fill(word, y * width + from, y * width + to);
  }

  /** Gives every column one of the palette's squares, lined up with the canvas. */
  weave(cells: Uint8Array, palette: Uint32Array): void {
    const { width, height, words, left, top } = this;
    for (let y = 0; y < Math.min(SIDE, height); y++) {
      const line = ((top + y) & (SIDE - 1)) * SIDE;
      for (let x = 0, at = y * width; x < width; x++) words[at++] = palette[cells[x] * SIDE * SIDE + line + ((left + x) & (SIDE - 1))];
    }
    this.repeat(0, width, 0, height, SIDE);
  }

  /** Copies the first `period` of the lines [y0, y1) to the others, in columns [x0, x1). */
  repeat(x0: number, x1: number, y0: number, y1: number, period: number): void {
    const { width, words } = this;
    if (x0 === 0 && x1 === width)
      for (let done = period; done < y1 - y0; done *= 2)
        words.copyWithin((y0 + done) * width, y0 * width, (y0 + Math.min(done, y1 - y0 - done)) * width);
    else
      for (let y = y0 + period; y < y1; y++) words.copyWithin(y * width + x0, (y - period) * width + x0, (y - period) * width + x1);
  }

  put(c: CanvasRenderingContext2D): void {
    c.putImageData(this.image, this.left, this.top);
  }
}
