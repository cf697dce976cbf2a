/** Memory limits that are lowered: what is in use already cannot be taken back, and the kernel would kill for it. */
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import type { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import type { CriConnection } from '#kubelet/runtimes/cri/cri-client.ts'

export type ContainerLimit = {
  id: string
  name: string
  /** 0 is no limit. */
  limitBytes: number
}

/** Rejects in upstream's words where the pod or one of its containers uses more than it shall have. */
export async function refuseBelowUsage(
  pod: V1Pod,
  limits: readonly ContainerLimit[],
  { client, cgroups }: { client: CriConnection; cgroups?: PodCgroups },
): Promise<void> {
  const problems: string[] = []
  const ofPod = await cgroups?.loweredMemory(pod)
  if (ofPod !== undefined && ofPod.usedBytes >= ofPod.limitBytes) {
    problems.push(`attempting to set pod memory limit (${ofPod.limitBytes}) below current usage (${ofPod.usedBytes})`)
  }
  for (const { id, name, limitBytes } of limits) {
    if (limitBytes === 0) continue
    // What a runtime does not tell cannot be compared; it refuses by itself then.
    const usedBytes = await client.call('containerStats', { containerId: id }).then(
      ({ stats }) => Number(stats?.memory?.usageBytes?.value ?? stats?.memory?.workingSetBytes?.value ?? 0),
      () => 0,
    )
    if (usedBytes >= limitBytes)
      problems.push(`attempting to set container "${name}" memory limit (${limitBytes}) below current usage (${usedBytes})`)
  }
  if (problems.length === 0) return
  throw new Error(`cannot decrease memory limits: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`)
}
