/** Where registries are, and what stands in for them. */

import { trimEndOf } from '#base/trim-end.ts'
import type { RegistryEndpoint } from '#runtime/images/registry-client.ts'

export type RegistrySettings = {
  /** By registry (`docker.io`, or `*` for all): URLs that are asked first. */
  mirrors?: Record<string, string[]>
  /** Registries (`host:port`) that are spoken to without TLS. */
  insecure?: string[]
}

export function endpointsOf(registry: string, { mirrors = {}, insecure = [] }: RegistrySettings): RegistryEndpoint[] {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry
  const isPlain = insecure.includes(registry) || isOnThisMachine(registry)
  const listed = [...(mirrors[registry] ?? []), ...(mirrors['*'] ?? [])].map((url) => ({ url: trimEndOf(url, '/'), isMirror: true }))
  return [...listed, { url: `${isPlain ? 'http' : 'https'}://${host}`, isMirror: false }]
}

/** As other runtimes do: what does not leave the machine needs no TLS. */
function isOnThisMachine(registry: string): boolean {
  const host = registry.replace(/:\d+$/, '')
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
