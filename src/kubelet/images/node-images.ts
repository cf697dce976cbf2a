import type { V1ContainerImage } from '#api/core/v1/types.gen.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'

const mostNames = 5

/** The images that a node's status tells of: the largest, by some of their names; all with -1. */
export async function nodeImages(client: Pick<CriClient, 'call'>, mostImages: number): Promise<V1ContainerImage[]> {
  const { images } = await client.call('listImages', {}, { timeoutMs: 5000 })
  return images
    .toSorted((one, other) => other.size - one.size)
    .slice(0, mostImages < 0 ? undefined : mostImages)
    .map(({ repoDigests, repoTags, size }) => ({ names: [...repoDigests, ...repoTags].slice(0, mostNames), sizeBytes: size }))
}
