import type { Clock } from '#base/clock.ts'
import { keptAnswer } from '#base/kept-answer.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import type { MachineUsageOptions } from '#kubelet/stats/machine-usage-source.ts'

/** It is another one only after the runtime was set up anew. */
const directoryAgeMs = 60_000

/** What a CRI runtime says of disks: where its images are, and what containers have written. */
export function criDisks(client: Pick<CriClient, 'call'>, clock: Clock): Pick<MachineUsageOptions, 'imageDirectory' | 'writableLayers'> {
  return {
    imageDirectory: keptAnswer(clock, directoryAgeMs, async () => {
      const { imageFilesystems } = await client.call('imageFsInfo', {}, { timeoutMs: 5000 })
      return imageFilesystems[0]?.fsId?.mountpoint
    }),
    async writableLayers() {
      const { stats } = await client.call('listContainerStats', {}, { timeoutMs: 10_000 })
      return new Map(
        stats.map(({ attributes, writableLayer }) => [
          attributes?.id ?? '',
          { usedBytes: Number(writableLayer?.usedBytes?.value ?? 0), inodesUsed: Number(writableLayer?.inodesUsed?.value ?? 0) },
        ]),
      )
    },
  }
}
