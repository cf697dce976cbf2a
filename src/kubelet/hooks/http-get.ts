/** What an `httpGet` of a probe or a hook asks for. */
import type { V1Container, V1HTTPGetAction } from '#api/core/v1/types.gen.ts'

export type HttpGet = { url: string; headers: Record<string, string | string[]> }

/** `purpose` is a word of the user agent: `probe`, `lifecycle`. */
export function httpGetOf(action: V1HTTPGetAction, container: V1Container, podIp: string, purpose: string): HttpGet {
  const scheme = (action.scheme || 'HTTP').toLowerCase()
  const host = action.host || podIp
  const port = containerPort(action.port, container)
  const url = new URL(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`)
  const path = action.path ?? '/'
  const [, pathname = '', query = ''] = /^([^?#]*)(\?[^#]*)?/.exec(path) ?? []
  url.pathname = pathname
  url.search = query
  return { url: url.href, headers: headersOf(action, purpose) }
}

function headersOf({ httpHeaders = [] }: V1HTTPGetAction, purpose: string): HttpGet['headers'] {
  const headers: Record<string, string | string[]> = {}
  const names = new Map<string, string>()
  for (const { name, value } of httpHeaders) {
    const known = names.get(name.toLowerCase())
    if (known === undefined) {
      names.set(name.toLowerCase(), name)
      headers[name] = value
    } else {
      headers[known] = [headers[known] ?? [], value].flat()
    }
  }
  if (!names.has('user-agent')) headers['User-Agent'] = `kube-${purpose}/1.36`
  const accept = names.get('accept')
  if (accept === undefined) headers['Accept'] = '*/*'
  else if (headers[accept] === '') delete headers[accept]
  return headers
}

/** A number, or the name of one of the container's ports. */
export function containerPort(port: number | string | undefined, { ports = [] }: V1Container): number {
  const named = typeof port === 'string' ? ports.find(({ name }) => name === port)?.containerPort : undefined
  const number = named ?? Number(port)
  if (typeof port === 'string' && named === undefined && !/^\d+$/.test(port))
    throw new Error(`strconv.Atoi: parsing "${port}": invalid syntax`)
  if (!(number > 0 && number < 65_536)) throw new Error(`invalid port number: ${number}`)
  return number
}
