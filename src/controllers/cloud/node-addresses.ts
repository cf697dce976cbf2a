/** The addresses of a node, as the cloud and the kubelet know them. */

import type { V1Node, V1NodeAddress } from '#api/core/v1/types.gen.ts'
import { addressNumber, familyOf } from '#base/ip-range.ts'

/** What the kubelet was told its addresses are. */
const providedNodeIpAnnotation = 'alpha.kubernetes.io/provided-node-ip'

/** Undefined where nothing is to be written. Throws where the cloud does not know an address that the kubelet was given. */
export function wantedAddresses(node: V1Node, ofCloud: readonly V1NodeAddress[]): V1NodeAddress[] | undefined {
  if (ofCloud.length === 0) return undefined
  const current = node.status?.addresses ?? []
  const isNamed = ofCloud.some(({ type }) => type === 'Hostname')
  const wanted = preferred(node, isNamed ? ofCloud : [...ofCloud, ...current.filter(({ type }) => type === 'Hostname')])
  return haveChanged(current, wanted) ? wanted : undefined
}

/** The addresses that the kubelet was given come first, and are the only ones of their types. */
export function preferred(node: V1Node, ofCloud: readonly V1NodeAddress[]): V1NodeAddress[] {
  const provided = node.metadata.annotations?.[providedNodeIpAnnotation]
  if (provided === undefined) return [...ofCloud]
  const first: V1NodeAddress[] = []
  for (const ip of provided.split(',').map((part) => part.trim())) {
    if (!isIp(ip)) throw new Error(`failed to parse node IP ${JSON.stringify(provided)}: could not parse ${JSON.stringify(ip)}`)
    const matching = ofCloud.filter(({ address }) => isIp(address) && addressNumber(address) === addressNumber(ip))
    if (matching.length === 0) throw new Error(`failed to get node address from cloud provider that matches ip: ${ip}`)
    first.push(...matching.map(({ type, address }) => ({ type, address })))
  }
  const types = new Set(first.map(({ type }) => type))
  return [...first, ...ofCloud.filter(({ type }) => !types.has(type))]
}

/** As upstream compares: the last address of each type stands for all of it. */
function haveChanged(current: readonly V1NodeAddress[], wanted: readonly V1NodeAddress[]): boolean {
  if (current.length !== wanted.length) return true
  const byType = new Map(current.map(({ type, address }) => [type, address]))
  return wanted.some(({ type, address }) => (byType.get(type) ?? '') !== address)
}

function isIp(text: string): boolean {
  if (!/^(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$/.test(text)) return false
  try {
    addressNumber(text)
    return familyOf(text) !== undefined
  } catch {
    return false
  }
}
