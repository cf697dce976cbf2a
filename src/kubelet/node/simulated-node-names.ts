/** `sim-node-1`, `sim-node-2`, … */
export const simulatedNodeNames = (count: number, prefix = 'sim-node'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`)
