/** Labels as tables show them: `app=web,tier=front`. */
export function selectorLabelsText(labels: { readonly [key: string]: string } | undefined): string {
  const pairs = Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`)
  return pairs.sort().join(',') || '<none>'
}
