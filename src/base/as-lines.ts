/**
 * The input of a program that reads one command a line. Throws where one of them would be read as two: whatever a value in it was, it cannot
 * add a command of its own.
 */
export function asLines(commands: readonly string[]): string {
  // Almost always none has a line of its own: then all of them together have as many as they are.
  const text = commands.join('\n')
  const lines = text === '' && commands.length === 0 ? 0 : countLines(text)
  if (lines !== commands.length || /[\r\0]/.test(text)) {
    const wrong = commands.find((command) => /[\n\r\0]/.test(command)) ?? ''
    throw new Error(`${JSON.stringify(wrong.length > 200 ? `${wrong.slice(0, 200)}…` : wrong)} is not one line`)
  }
  return commands.length === 0 ? '' : `${text}\n`
}

function countLines(text: string): number {
  let count = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count++
  return count
}
