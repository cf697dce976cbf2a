import { labelsOf } from '#wire/dns/dns-name.ts'

/** What a name below the cluster's domain asks about. */
export type ParsedName =
  /** The domain itself, or a part of it that only holds others. */
  | { kind: 'holder' }
  | { kind: 'namespace'; namespace: string }
  | { kind: 'pod'; namespace: string; pod: string }
  | { kind: 'service'; namespace: string; service: string }
  | { kind: 'endpoint'; namespace: string; service: string; endpoint: string }
  | { kind: 'port'; namespace: string; service: string; port: string; protocol: string }
  | { kind: 'unknown' }

const holder: ParsedName = { kind: 'holder' }
const unknown: ParsedName = { kind: 'unknown' }

/**
 * `_port._protocol.service.namespace.svc`, `endpoint.service.namespace.svc`, `service.namespace.svc` and `a-b-c-d.namespace.pod`, below
 * the zone. `service.namespace` alone is what the first clusters answered to, and still works.
 */
export function parseClusterName(name: string, zone: string): ParsedName {
  if (name === zone) return holder
  const labels = labelsOf(name.slice(0, name.length - zone.length))
  const area = labels.pop()
  if (area !== 'svc' && area !== 'pod') {
    const [service, ...others] = labels
    return area !== undefined && service !== undefined && others.length === 0 ? { kind: 'service', namespace: area, service } : unknown
  }
  const namespace = labels.pop()
  if (namespace === undefined) return holder
  const object = labels.pop()
  if (object === undefined) return { kind: 'namespace', namespace }
  if (area === 'pod') return labels.length === 0 ? { kind: 'pod', namespace, pod: object } : unknown
  const [first, second] = labels
  if (first === undefined) return { kind: 'service', namespace, service: object }
  if (second === undefined) return { kind: 'endpoint', namespace, service: object, endpoint: first }
  if (labels.length > 2) return unknown
  return { kind: 'port', namespace, service: object, port: first.replace(/^_/, ''), protocol: second.replace(/^_/, '') }
}
