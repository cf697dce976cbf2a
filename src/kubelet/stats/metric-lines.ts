/** `{name="value",…}`, as Prometheus writes labels; nothing where there are none. */
export function labelled(labels: object): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escaped = (text: string): string => text.replace(/[\\"\n]/g, (each) => (each === '\n' ? '\\n' : `\\${each}`))
