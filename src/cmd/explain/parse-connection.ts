export type Protocol = 'TCP' | 'UDP' | 'SCTP'

export type ConnectionTarget =
  | { kind: 'service'; namespace: string; name: string; port: number | string }
  | { kind: 'pod'; namespace: string; name: string; port: number | string }
  | { kind: 'address'; ip: string; port: number | string }
  /** As a pod would ask for it. */
  | { kind: 'name'; host: string; port: number | string }

export type AskedConnection = { from: { namespace: string; name: string }; target: ConnectionTarget; protocol: Protocol }

const arrows = new Set(['→', '->', 'to'])

/** `POD → SERVICE:PORT`, with or without the arrow; `namespace` is meant where a name says none. Throws on what cannot be understood. */
export function parseConnection(words: readonly string[], namespace: string, protocol: string): AskedConnection {
  const [from, target, ...more] = words.flatMap((word) => word.split(/\s+/)).filter((word) => word !== '' && !arrows.has(word))
  if (from === undefined || target === undefined || more.length > 0) {
    throw new Error('say from which pod to where: typernetes explain connection POD SERVICE:PORT')
  }
  const upper = protocol.toUpperCase()
  if (upper !== 'TCP' && upper !== 'UDP' && upper !== 'SCTP') throw new Error(`${protocol} is not a valid protocol; TCP, UDP and SCTP are`)
  return { from: named(from.replace(/^pods?\//, ''), namespace), target: parseTarget(target, namespace), protocol: upper }
}

/** `name`, or `namespace/name`. */
function named(text: string, namespace: string): { namespace: string; name: string } {
  const parts = text.split('/')
  if (parts.length > 2 || parts.some((part) => part === '')) throw new Error(`${text} is not a valid name; NAME and NAMESPACE/NAME are`)
  return parts.length === 2 ? { namespace: parts[0] ?? '', name: parts[1] ?? '' } : { namespace, name: text }
}

function parseTarget(text: string, namespace: string): ConnectionTarget {
  const [, host = '', portText = ''] = /^(.+):([^:\]]+)$/.exec(text) ?? []
  if (portText === '') throw new Error(`${text} has no port; say SERVICE:PORT, pod/POD:PORT or ADDRESS:PORT`)
  const port = /^\d+$/.test(portText) ? Number(portText) : portText
  const ip = host.replace(/^\[|\]$/g, '')
  if (/^\d+\.\d+\.\d+\.\d+$/.test(ip) || ip.includes(':')) return { kind: 'address', ip, port }
  if (/^pods?\//.test(host)) return { kind: 'pod', port, ...named(host.replace(/^pods?\//, ''), namespace) }
  const name = host.replace(/^(services?|svc)\//, '')
  const isObject = name !== host || name.includes('/')
  return isObject ? { kind: 'service', port, ...named(name, namespace) } : { kind: 'name', host, port }
}
