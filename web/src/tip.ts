// What stands at the pointer over a canvas.
import { el, type Child } from "./dom";

/** `about` gives the lines for a place of the canvas, null: nothing is there. */
export function attachTip(canvas: HTMLCanvasElement, about: (x: number, y: number) => Child[] | null): void {
  const tip = el("div", { class: "tip", role: "tooltip", hidden: true });
  const hide = () => {
    tip.hidden = true;
    tip.remove();
  };
  canvas.addEventListener("pointermove", (event) => {
    const lines = about(event.offsetX, event.offsetY);
    canvas.style.cursor = lines ? "pointer" : "";
    if (!lines) return hide();
    tip.replaceChildren(...lines.map((line) => el("div", {}, [line])));
    if (!tip.isConnected) canvas.parentElement?.append(tip);
    tip.hidden = false;
    const below = event.clientY + 18 + tip.offsetHeight < innerHeight;
    tip.style.left = `${Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 6))}px`;
    tip.style.top = `${below ? event.clientY + 18 : event.clientY - tip.offsetHeight - 12}px`;
  });
  canvas.addEventListener("pointerleave", hide);
}
