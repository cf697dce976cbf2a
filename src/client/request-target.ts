/** Where a request goes: the path of a resource and its query. */
import type { Kind } from '#api/kind.ts'

/** What must be known of a kind to ask for it. */
export type ResourceAddress = Pick<Kind, 'group' | 'version' | 'plural' | 'scope'>

export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>

export function requestTarget(
  { group, version, plural, scope }: ResourceAddress,
  { namespace = '', name = '', subresource = '' }: { namespace?: string; name?: string; subresource?: string },
  query: QueryValues = {},
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const place = scope === 'Namespaced' && namespace !== '' ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  const object = name === '' ? '' : `/${encodeURIComponent(name)}`
  return `${root}${place}/${plural}${object}${subresource === '' ? '' : `/${subresource}`}${queryText(query)}`
}

function queryText(query: QueryValues): string {
  let text = ''
  for (const key in query) {
    const value = query[key]
    if (value === undefined || value === '') continue
    text += `${text === '' ? '?' : '&'}${key}=${encodeURIComponent(String(value))}`
  }
  return text
}
