/** Where pods come from beside the API: a directory, a URL. */
import type { Clock } from '#base/clock.ts'
import { parseDurationMs } from '#base/duration.ts'
import type { Files } from '#base/files.ts'
import type { HttpClient } from '#base/http-client.ts'
import type { Logger } from '#base/log.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { PodDirectory } from '#kubelet/sources/pod-directory.ts'
import type { StaticPodSource } from '#kubelet/sources/pod-source.ts'
import { PodUrl } from '#kubelet/sources/pod-url.ts'

export async function staticSources(
  { name: node, configuration }: { name: string; configuration: KubeletConfiguration },
  { files, clock, logger, http }: { files: Files; clock: Clock; logger: Logger; http(): HttpClient },
  begun: AsyncDisposableStack,
): Promise<StaticPodSource[]> {
  const { staticPodPath, staticPodURL, staticPodURLHeader, fileCheckFrequency, httpCheckFrequency } = configuration
  const sources: (PodDirectory | PodUrl)[] = []
  if (staticPodPath !== '') {
    sources.push(new PodDirectory({ path: staticPodPath, node, files, clock, logger, checkMs: parseDurationMs(fileCheckFrequency) }))
  }
  if (staticPodURL !== '') {
    const asking = { http: begun.use(http()), headers: staticPodURLHeader, checkMs: parseDurationMs(httpCheckFrequency) }
    sources.push(new PodUrl({ url: staticPodURL, node, clock, logger, ...asking }))
  }
  for (const source of sources) {
    begun.defer(() => source.stop())
    await source.start()
  }
  return sources
}
