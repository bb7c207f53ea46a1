// The texts whose contrast with their background is less than WCAG 2.1's level AA wants: [ratio, text, colours].
const numbers = (colour) => {
  const [red, green, blue, alpha = 1] = colour.match(/[\d.]+/g).map(Number);
  return { channels: [red, green, blue], alpha };
};
const over = (front, back) => front.channels.map((each, index) => each * front.alpha + back[index] * (1 - front.alpha));
const luminance = (channels) => {
  const [red, green, blue] = channels.map((each) => each / 255).map((each) => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
const background = (element) => {
  const layers = [];
  for (let each = element; each; each = each.parentElement) {
    const layer = numbers(getComputedStyle(each).backgroundColor);
    if (layer.alpha) layers.push(layer);
    if (layer.alpha === 1) break;
  }
  const page = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  return layers.reverse().reduce((back, layer) => over(layer, back), page);
};
const hidden = (element) => !element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
const worst = new Map();
let looked = 0;
const look = (element, text, pseudo) => {
  const style = getComputedStyle(element, pseudo), back = background(element), size = parseFloat(style.fontSize);
  const [light, dark] = [over(numbers(style.color), back), back].map(luminance).sort((one, other) => other - one);
  const ratio = (light + 0.05) / (dark + 0.05);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  looked += 1;
  const key = `${element.tagName} ${style.color} on ${back.map(Math.round)}`;
  if (ratio < (large ? 3 : 4.5) && !worst.has(key)) worst.set(key, `${ratio.toFixed(2)}: "${text.trim().slice(0, 30)}", ${key}`);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (walker.currentNode.data.trim() && !/^(SCRIPT|NOSCRIPT|STYLE)$/.test(element.tagName) && !hidden(element)) look(element, walker.currentNode.data);
}
for (const input of document.querySelectorAll("input[placeholder]")) if (!hidden(input)) look(input, input.placeholder, "::placeholder");
return { looked, worst: [...worst.values()] };
