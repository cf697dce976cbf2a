import type { ImageStore } from '#kubelet/images/image-garbage.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'

/** The images of a CRI runtime, as their garbage is looked for. */
export function criImageStore(client: Pick<CriClient, 'call'>): ImageStore {
  return {
    async list() {
      const { images } = await client.call('listImages', {}, { timeoutMs: 10_000 })
      return images.map(({ id, repoTags, repoDigests, size, pinned }) => ({
        ...{ id, names: [...repoTags, ...repoDigests], sizeBytes: size, isPinned: pinned },
      }))
    },
    async inUse() {
      const { containers } = await client.call('listContainers', {}, { timeoutMs: 10_000 })
      return new Set(containers.flatMap(({ imageRef, imageId, image }) => [imageRef, imageId, image?.image ?? '']).filter(Boolean))
    },
    async remove(id) {
      await client.call('removeImage', { image: { image: id } }, { timeoutMs: 60_000 })
    },
  }
}
