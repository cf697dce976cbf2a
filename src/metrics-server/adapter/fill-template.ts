/** Templates of rules: `<<.Series>>`, `<<index .LabelValuesByName "pod">>`. */
export type TemplateValues = Readonly<Record<string, string | Readonly<Record<string, string>>>>

/** Throws for what a template may not say. */
export function fillTemplate(template: string, values: TemplateValues): string {
  // One that nobody closes goes on to the end of the line, so that it is looked for once.
  return template.replaceAll(/<<(.*?)(>>|$)/gm, (all, inner: string, closing: string) => {
    if (closing === '') return all
    const action = inner.replace(/^-/, '').replace(/-$/, '').trim()
    const field = /^\.(\w+)$/.exec(action)
    const value = field && values[field[1] ?? '']
    if (typeof value === 'string') return value
    const indexed = /^index\s+\.(\w+)\s+"([^"]*)"$/.exec(action)
    const map = indexed && values[indexed[1] ?? '']
    if (typeof map === 'object' && map !== null) return map[indexed?.[2] ?? ''] ?? ''
    throw new Error(
      `<<${action}>> is not known; there are ${Object.keys(values)
        .map((name) => `.${name}`)
        .join(', ')} and index`,
    )
  })
}
