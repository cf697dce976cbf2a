/** Upstream's chains and the hashes in their names. */
import { createHash } from 'node:crypto'
import { base32 } from '#proxy/rules/base32.ts'
import type { Endpoint } from '#proxy/service-table/endpoint.ts'
import type { ServicePort } from '#proxy/service-table/service-port.ts'

export type ChainNames = ReturnType<typeof chainNames>

/** `prefix`: `KUBE`, or what another cluster on the machine has in its place; at most 7 letters, since a name has 28. */
export function chainNames(prefix = 'KUBE') {
  const ofPort =
    (kind: string) =>
    ({ name, protocol }: ServicePort): string =>
      `${prefix}-${kind}-${hashed(`${name}${protocol.toLowerCase()}`)}`
  return {
    services: `${prefix}-SERVICES`,
    externalServices: `${prefix}-EXTERNAL-SERVICES`,
    nodePorts: `${prefix}-NODEPORTS`,
    postrouting: `${prefix}-POSTROUTING`,
    markMasq: `${prefix}-MARK-MASQ`,
    forward: `${prefix}-FORWARD`,
    firewall: `${prefix}-PROXY-FIREWALL`,
    kubeletFirewall: `${prefix}-FIREWALL`,
    canary: `${prefix}-PROXY-CANARY`,
    /** Endpoints of all nodes. */
    service: ofPort('SVC'),
    /** Endpoints of this node. */
    local: ofPort('SVL'),
    external: ofPort('EXT'),
    sources: ofPort('FW'),
    endpoint: ({ name, protocol }: ServicePort, { text }: Endpoint): string =>
      `${prefix}-SEP-${hashed(`${name}${protocol.toLowerCase()}${text}`)}`,
    isOfService: (chain: string): boolean => ['SVC', 'SVL', 'SEP', 'FW', 'EXT'].some((kind) => chain.startsWith(`${prefix}-${kind}-`)),
  }
}

function hashed(text: string): string {
  return base32(createHash('sha256').update(text).digest()).slice(0, 16)
}
