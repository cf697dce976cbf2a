import type { Clock } from '#base/clock.ts'
import { TokenBucket } from '#client/work-queue/rate-limiter.ts'
import type { ImageService } from '#kubelet/images/image-service.ts'

/** Registries are not asked more often than `registryPullQPS` and `registryBurst` allow; 0 is no limit. Pulls beyond fail at once. */
export function throttledImages(images: ImageService, { qps, burst }: { qps: number; burst: number }, clock: Clock): ImageService {
  if (qps === 0) return images
  const bucket = new TokenBucket(clock, { perSecond: qps, burst })
  return {
    ...images,
    async pull(image, auth) {
      if (!bucket.tryTake()) throw new Error('pull QPS exceeded')
      return images.pull(image, auth)
    },
  }
}
