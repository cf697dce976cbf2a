import { bool, listOf, mapOf, string, struct } from '#api/cel/types/cel-type.ts'
import { declare, type FunctionDeclaration, member, plain } from '#api/cel/types/declarations.ts'
import { mapOfEntries } from '#api/cel/values/json.ts'
import { ArrayList, CelError, CelObject, type Value } from '#api/cel/values/value.ts'
import { type GoUrl, parseGoUrl } from '#api/meta/go-url.ts'

export const urlType = struct('kubernetes.URL')

class UrlValue extends CelObject {
  override readonly type = urlType
  readonly url: GoUrl
  readonly text: string

  constructor(url: GoUrl, text: string) {
    super()
    this.url = url
    this.text = text
  }
  override equals(other: Value): boolean {
    return other instanceof UrlValue && this.text === other.text
  }
}

/** Absolute, or a path from the root: what a request may ask for. */
export function parseRequestUri(text: string): GoUrl {
  if (text === '') throw new Error('parse "": empty url')
  const url = parseGoUrl(text)
  if (url.scheme === '' && !text.startsWith('/')) throw new Error(`parse ${JSON.stringify(text)}: invalid URI for request`)
  return url
}

function parsed(text: string): UrlValue {
  try {
    return new UrlValue(parseRequestUri(text), text)
  } catch (error) {
    throw new CelError(`URL parse error during conversion from string: ${(error as Error).message}`)
  }
}

const url = (value: Value | undefined): GoUrl => (value as UrlValue).url

function isUrl(text: string): boolean {
  try {
    parseRequestUri(text)
    return true
  } catch {
    return false
  }
}

function hostname(host: string): string {
  const bare = host.replace(/:[0-9]*$/, '')
  return bare.startsWith('[') ? bare.slice(1, -1) : bare
}

/** As written, where that is a proper escaping already. */
const escapedPath = (path: string): string =>
  [...path].map((char) => (/[A-Za-z0-9\-_.~$&+,/:;=@!'()*]/.test(char) ? char : encodeURIComponent(char))).join('')

function queryOf(raw: string): Value {
  const values = new Map<string, Value[]>()
  for (const pair of raw.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const cut = pair.indexOf('=')
    const [key, value] = cut < 0 ? [pair, ''] : [pair.slice(0, cut), pair.slice(cut + 1)]
    try {
      const decode = (text: string) => decodeURIComponent(text.replaceAll('+', ' '))
      const name = decode(key)
      values.set(name, [...(values.get(name) ?? []), decode(value)])
    } catch {
      // A pair that is not escaped properly is left out.
    }
  }
  return mapOfEntries([...values].map(([key, list]) => [key, new ArrayList(list)]))
}

const part = (name: string, id: string, of: (url: GoUrl) => string): FunctionDeclaration =>
  declare(
    name,
    member(id, [urlType], string, (value) => of(url(value))),
  )

export const urlsLibrary: readonly FunctionDeclaration[] = [
  declare(
    'url',
    plain('string_to_url', [string], urlType, (text) => parsed(text as string)),
  ),
  part('getScheme', 'url_get_scheme', ({ scheme }) => scheme),
  part('getHost', 'url_get_host', ({ host }) => host),
  part('getHostname', 'url_get_hostname', ({ host }) => hostname(host)),
  part('getPort', 'url_get_port', ({ host }) => /:([0-9]*)$/.exec(host)?.[1] ?? ''),
  part('getEscapedPath', 'url_get_escaped_path', ({ path }) => escapedPath(path)),
  declare(
    'getQuery',
    member('url_get_query', [urlType], mapOf(string, listOf(string)), (value) => queryOf(url(value).rawQuery)),
  ),
  declare(
    'isURL',
    plain('is_url_string', [string], bool, (text) => isUrl(text as string)),
  ),
]
