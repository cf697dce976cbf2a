import type { V1Node } from '#api/core/v1/types.gen.ts'
import type { Logger } from '#base/log.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'

/** Hears of the node, and tells the runtime when the range of its pods has changed. */
export function podCidrTeller(runtime: Pick<Runtime, 'setPodCidr'>, logger: Logger): (node: V1Node) => void {
  let told = ''
  return ({ spec }) => {
    const podCidr = spec?.podCIDRs?.join(',') ?? spec?.podCIDR ?? ''
    if (podCidr === '' || podCidr === told) return
    told = podCidr
    runtime.setPodCidr?.(podCidr).catch((error: unknown) => {
      // The next look at the node tries again.
      told = ''
      logger.warn('failed to tell the container runtime the pod CIDR', { podCidr, error: String(error) })
    })
  }
}
