const units = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei']

/** `104857600` is `100Mi`; what is no whole number of a unit is told in the next smaller one. */
export function formatBytes(bytes: number): string {
  let [amount, unit] = [Math.round(bytes), 0]
  while (amount !== 0 && amount % 1024 === 0 && unit < units.length - 1) [amount, unit] = [amount / 1024, unit + 1]
  return `${amount}${units[unit]}`
}
