import { defaultPullPolicy, parseImageReference } from '#api/core/v1/pod-spec/image-reference.ts'
import type { V1Container, V1Pod, V1Secret } from '#api/core/v1/types.gen.ts'
import { append } from '#base/append.ts'
import type { Clock } from '#base/clock.ts'
import { formatDurationMs } from '#base/duration.ts'
import { errorText, type ImageService } from '#kubelet/images/image-service.ts'
import { PullBackOff } from '#kubelet/images/pull-back-off.ts'
import { type Pulled, PullQueue } from '#kubelet/images/pull-queue.ts'
import type { PulledImages } from '#kubelet/images/pulled-images.ts'
import { credentialsFor, entriesOfSecret, mayBeFor, type RegistryEntry } from '#kubelet/images/registry-credentials.ts'
import { type ContainerContext, StartFailure } from '#kubelet/pod-worker/runtime-helper.ts'

export type PullSecrets = {
  /** Rejects where it cannot be had. */
  secret(namespace: string, name: string): Promise<V1Secret>
}

export type ImageManagerOptions = {
  images: ImageService
  secrets: PullSecrets
  clock: Clock
  /** One after the other unless said otherwise, as upstream. */
  maxParallelPulls?: number
  /** What the node itself has for registries; asked for with each pull. */
  nodeCredentials?(repository: string, pod: V1Pod): Promise<readonly RegistryEntry[]>
  /** Absent where every pod may use every image that is on the node. */
  pulledImages?: PulledImages
}

type Tell = ContainerContext['tell']
type PullRequest = { key: string; asked: string; image: string; credentials(): Promise<RegistryEntry[]> }

/** A failure is seen as such for this long before the wait after it is. */
const failureShownMs = 1000

/** That are tried for one pull; the most particular ones come first. */
const mostCredentials = 20

/** Gets images onto the node as pods want them. */
export class ImageManager {
  readonly #options: ImageManagerOptions
  readonly #backOff: PullBackOff
  readonly #queue: PullQueue

  constructor(options: ImageManagerOptions) {
    this.#options = options
    this.#backOff = new PullBackOff(options.clock)
    this.#queue = new PullQueue(options.clock, options.maxParallelPulls ?? 1)
  }

  /**
   * Resolves with what the runtime calls the image; rejects with a `StartFailure`. Aborting gives up the wait only:
   * others may wait for the same image.
   */
  async ensureImage(pod: V1Pod, container: V1Container, tell: Tell, signal: AbortSignal): Promise<string> {
    const { image: asked = '', imagePullPolicy: policy = defaultPullPolicy(asked) } = container
    const image = withTag(asked, tell)
    let found: Promise<RegistryEntry[]> | undefined
    const credentials = () => {
      found ??= this.#credentials(pod, image, tell)
      return found
    }
    if (policy !== 'Always') {
      const present = await this.#find(image, tell)
      const { pulledImages } = this.#options
      if (present !== undefined && ((await pulledImages?.mayUse(asked, present, credentials)) ?? true)) {
        tell('Normal', 'Pulled', `Container image "${asked}" already present on machine and can be accessed by the pod`)
        return present
      }
      // Whether it is there and not for this pod, or not there, is not told.
      if (policy === 'Never') {
        const message = `Container image "${asked}" is not present with pull policy of Never`
        tell('Warning', 'ErrImageNeverPull', message)
        throw new StartFailure('ErrImageNeverPull', message)
      }
    }
    return this.#pull({ key: `${pod.metadata.uid}_${asked}`, asked, image, credentials }, tell, signal)
  }

  async #find(image: string, tell: Tell): Promise<string | undefined> {
    try {
      return (await this.#options.images.find(image))?.id
    } catch (error) {
      const message = `Failed to inspect image "": ${errorText(error)}`
      tell('Warning', 'InspectFailed', message)
      throw new StartFailure('ImageInspectError', message)
    }
  }

  async #pull({ key, asked, image, credentials }: PullRequest, tell: Tell, signal: AbortSignal): Promise<string> {
    const { clock } = this.#options
    const waiting = this.#backOff.waiting(key)
    if (waiting !== undefined) {
      const message = `Back-off pulling image "${asked}"`
      tell('Normal', 'BackOff', message)
      throw new StartFailure('ImagePullBackOff', `${message}: ${waiting.reason}`, waiting.leftMs)
    }
    const entries = await credentials()
    tell('Normal', 'Pulling', `Pulling image "${asked}"`)
    const startMs = clock.monotonic()
    let pulled: Pulled
    try {
      const pull = this.#queue.pull(JSON.stringify([image, entries]), () => this.#pullAndRemember(asked, image, entries))
      pulled = await unlessAborted(pull, signal)
    } catch (error) {
      signal.throwIfAborted()
      const text = errorText(error)
      tell('Warning', 'Failed', `Failed to pull image "${asked}": ${text}`)
      const { reason, message } = pullFailure(asked, text)
      this.#backOff.failed(key, `${reason}: ${message}`)
      throw new StartFailure(reason, message, failureShownMs)
    }
    const tookMs = Math.trunc(clock.monotonic() - startMs)
    const times = `${formatDurationMs(Math.trunc(pulled.pullMs))} (${formatDurationMs(tookMs)} including waiting)`
    tell('Normal', 'Pulled', `Successfully pulled image "${asked}" in ${times}. Image size: ${pulled.sizeBytes} bytes.`)
    return pulled.imageRef
  }

  async #pullAndRemember(asked: string, image: string, entries: readonly RegistryEntry[]) {
    const { pulledImages } = this.#options
    await pulledImages?.begin(asked)
    let outcome: { imageRef: string; credentials: RegistryEntry | undefined } | undefined
    try {
      outcome = await this.#pullWithAny(image, entries)
      return { imageRef: outcome.imageRef, sizeBytes: (await this.#options.images.find(image))?.size ?? 0 }
    } finally {
      await pulledImages?.end(asked, outcome)
    }
  }

  /** Several may be known for a registry while they are replaced: the first good one counts. */
  async #pullWithAny(image: string, entries: readonly RegistryEntry[]) {
    const errors: unknown[] = []
    for (const credentials of entries.length === 0 ? [undefined] : entries.slice(0, mostCredentials)) {
      try {
        return { imageRef: await this.#options.images.pull(image, credentials?.auth), credentials }
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length === 1) throw errors[0]
    throw new Error(`[${errors.map(errorText).join(', ')}]`)
  }

  async #credentials(pod: V1Pod, image: string, tell: Tell): Promise<RegistryEntry[]> {
    const { secrets, nodeCredentials } = this.#options
    const repository = parseImageReference(image)?.repository ?? image
    const ofPod: RegistryEntry[] = []
    const missing: string[] = []
    // One that is named again has nothing new.
    for (const name of new Set(pod.spec.imagePullSecrets?.map((secret) => secret.name ?? ''))) {
      if (name === '') continue
      try {
        const entries = entriesOfSecret(await secrets.secret(pod.metadata.namespace ?? '', name))
        append(
          ofPod,
          entries.filter((entry) => mayBeFor(repository, entry)),
        )
      } catch {
        missing.push(name)
      }
    }
    if (missing.length > 0) {
      const what = `Unable to retrieve some image pull secrets (${missing.join(', ')})`
      tell('Warning', 'FailedToRetrieveImagePullSecret', `${what}; attempting to pull the image may not succeed.`)
    }
    const ofNode = (await nodeCredentials?.(repository, pod)) ?? []
    return [...credentialsFor(repository, ofPod), ...credentialsFor(repository, ofNode)]
  }
}

/** An image without tag and digest is its `latest`; nothing else of the name is changed, the runtime knows what it means. */
function withTag(image: string, tell: Tell): string {
  const parsed = parseImageReference(image)
  if (parsed === undefined) {
    const message = `Failed to apply default image tag "${image}": couldn't parse image name "${image}": invalid reference format`
    tell('Warning', 'InspectFailed', message)
    throw new StartFailure('InvalidImageName', message)
  }
  const { tag, digest } = parsed
  return digest === undefined && tag !== undefined && !image.endsWith(`:${tag}`) ? `${image}:${tag}` : image
}

const specialFailures = [
  { name: 'RegistryUnavailable', because: 'the registry is unavailable' },
  { name: 'SignatureValidationFailed', because: 'the signature validation failed' },
]

/** Runtimes name two failures at the beginning of their message. */
function pullFailure(image: string, text: string): { reason: string; message: string } {
  const special = specialFailures.find(({ name }) => text.startsWith(name))
  if (special === undefined) return { reason: 'ErrImagePull', message: text }
  return { reason: special.name, message: `image pull failed for ${image} because ${special.because}${text.slice(special.name.length)}` }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) return onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
