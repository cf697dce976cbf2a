/** Each API server says that it is there by a Lease in kube-system, and takes away those of servers that are long gone. */
import { createHash } from 'node:crypto'
import { Lease } from '#api/coordination/v1/kinds.gen.ts'
import type { V1Lease } from '#api/coordination/v1/types.gen.ts'
import { deepCopy } from '#api/meta/deep-copy.ts'
import { formatMicroTime, parseMicroTime } from '#api/meta/time.ts'
import { serverContext } from '#apiserver/registry/registries.ts'
import type { ApiServer } from '#apiserver/server.ts'
import type { Clock } from '#base/clock.ts'
import type { Logger } from '#base/log.ts'
import type { Random } from '#base/random.ts'

const namespace = 'kube-system'
const component = 'kube-apiserver'
const componentLabel = 'apiserver.kubernetes.io/identity'
const durationSeconds = 3600
const renewEveryMs = 10_000
const cleanEveryMs = 3_600_000

export type IdentityLeaseOptions = { hostName: string; clock: Clock; random: Random; logger: Logger }

/** Upstream's name for the API server of a machine. */
export function serverIdentity(hostName: string): string {
  const field = (text: string) => {
    const bytes = Buffer.from(text)
    return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes])
  }
  const hash = createHash('sha256').update(field(hostName)).update(field(component)).digest()
  return `apiserver-${base32(hash.subarray(0, 16))}`
}

function base32(bytes: Uint8Array): string {
  const letters = 'abcdefghijklmnopqrstuvwxyz234567'
  let text = ''
  let bits = 0
  let value = 0
  for (const byte of bytes) {
    value = (value << 8) | byte
    for (bits += 8; bits >= 5; bits -= 5) text += letters[(value >> (bits - 5)) & 31]
    value &= (1 << bits) - 1
  }
  return bits > 0 ? text + letters[(value << (5 - bits)) & 31] : text
}

/** Writes the lease, renews it until disposed of, and leaves it behind then. */
export async function keepIdentityLease(server: ApiServer, { hostName, clock, random, logger }: IdentityLeaseOptions): Promise<Disposable> {
  const registry = server.registries.of(Lease)
  const context = serverContext(registry.definition, namespace)
  const name = serverIdentity(hostName)
  const holderIdentity = `${name}_${random.uuid()}`
  const renewed = (prev: V1Lease | undefined): V1Lease => {
    const lease: V1Lease =
      prev === undefined ? { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: {}, spec: {} } : deepCopy(prev)
    const labels = { ...lease.metadata.labels, [componentLabel]: component, 'kubernetes.io/hostname': hostName }
    lease.metadata = { ...lease.metadata, name, namespace, labels }
    const spec = prev === undefined ? { holderIdentity } : lease.spec
    lease.spec = { ...spec, leaseDurationSeconds: durationSeconds, renewTime: formatMicroTime(clock.nowMicros()) }
    return lease
  }
  const renew = async () => {
    await registry.update(name, context, { createsIfMissing: true, retriesConflicts: true, tracksFields: true, transform: renewed })
  }
  const clean = async () => {
    for (const { object: lease } of registry.cache.list(namespace)) {
      if (lease.metadata?.labels?.[componentLabel] !== component || !isExpired(lease, clock.now())) continue
      await registry.delete(lease.metadata.name ?? '', {}, context)
    }
  }
  const report = (error: unknown) => logger.warn('failed to renew kube-apiserver identity lease', { name, error: String(error) })
  await renew().catch(report)
  const timers = [clock.every(renewEveryMs, () => void renew().catch(report)), clock.every(cleanEveryMs, () => void clean().catch(report))]
  void clean().catch(report)
  return {
    [Symbol.dispose]() {
      for (const timer of timers) timer.cancel()
    },
  }
}

/** One without times is nobody's. */
function isExpired({ spec }: V1Lease, nowMs: number): boolean {
  if (spec?.renewTime === undefined || spec.leaseDurationSeconds === undefined) return true
  return parseMicroTime(spec.renewTime) / 1000 + spec.leaseDurationSeconds * 1000 < nowMs
}
