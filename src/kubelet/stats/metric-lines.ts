/** `{name="value",…}`, as Prometheus writes labels; nothing where there are none. */
export function labelled(labels: object): string {
  const pairs: string[] = []
  for (const [name, value] of Object.entries(labels)) pairs.push(`${name}="${escaped(String(value))}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const special = /[\\"\n]/

/** A value between its quotation marks. */
export function escaped(text: string): string {
  return special.test(text) ? text.replace(/[\\"\n]/g, (each) => (each === '\n' ? '\\n' : `\\${each}`)) : text
}
