import { Pod } from '#api/core/v1/kinds.gen.ts'
import type { AdmissionContext, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf } from '#apiserver/admission/object-of.ts'
import { ExpiringCache } from '#apiserver/authn/expiring-cache.ts'
import { errorMessage } from '#base/error-message.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { shortKey } from '#base/short-key.ts'

/** Times are in seconds, the delay in milliseconds; 0 stands for the default, -1 for none. */
type Configuration = {
  imagePolicy?: { kubeConfigFile?: string; allowTTL?: number; denyTTL?: number; retryBackoff?: number; defaultAllow?: boolean }
}

type ReviewStatus = { allowed?: boolean; reason?: string; auditAnnotations?: Record<string, string> }

const auditPrefix = 'imagepolicywebhook.image-policy.k8s.io/'
const failedOpenAnnotation = 'alpha.image-policy.k8s.io/failed-open'
const apiVersion = 'imagepolicy.k8s.io/v1alpha1'
const mostRemembered = 1024

/** Asks a service whether the images of a pod may run. */
export function imagePolicyWebhook({ configuration, clock, logger, reviewWebhook }: AdmissionContext): AdmissionPlugin {
  const { imagePolicy } = (configuration ?? {}) as Configuration
  if (imagePolicy?.kubeConfigFile === undefined) throw new Error('ImagePolicyWebhook needs a configuration with imagePolicy.kubeConfigFile')
  if (reviewWebhook === undefined) throw new Error('ImagePolicyWebhook has no way to its service')
  const { defaultAllow = false } = imagePolicy
  const allowedMs = within('allow cache', imagePolicy.allowTTL, { unitMs: 1000, min: 1000, max: 30 * 60_000, fallback: 5 * 60_000 })
  const deniedMs = within('deny cache', imagePolicy.denyTTL, { unitMs: 1000, min: 1000, max: 30 * 60_000, fallback: 30_000 })
  const retryMs = within('backoff', imagePolicy.retryBackoff, { unitMs: 1, min: 0, max: 5 * 60_000, fallback: 500 })
  const send = reviewWebhook(imagePolicy.kubeConfigFile, retryMs)
  const known = new ExpiringCache<ReviewStatus>(clock, mostRemembered)

  const ask = async (request: AdmissionRequest, spec: object, key: string): Promise<ReviewStatus> => {
    try {
      const review = await send({ apiVersion, kind: 'ImageReview', metadata: {}, spec, status: { allowed: false } })
      const status = (review['status'] ?? {}) as ReviewStatus
      known.set(key, status, status.allowed ? allowedMs : deniedMs)
      return status
    } catch (error) {
      const message = errorMessage(error)
      logger.warn('ImagePolicyWebhook call failed', { error: message, allowed: defaultAllow })
      if (!defaultAllow) throw forbid(request, message)
      request.annotateAudit(`${auditPrefix}failed-open`, 'true')
      const { metadata } = objectOf(Pod, request)
      metadata.annotations = { ...metadata.annotations, [failedOpenAnnotation]: 'true' }
      return { allowed: true }
    }
  }
  return {
    name: 'ImagePolicyWebhook',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods', 'pods/ephemeralcontainers'],
    async validate(request) {
      const spec = reviewSpec(request)
      const key = shortKey(JSON.stringify(spec))
      const status = known.get(key) ?? (await ask(request, spec, key))
      for (const [name, value] of Object.entries(status.auditAnnotations ?? {})) request.annotateAudit(auditPrefix + name, value)
      if (status.allowed) return
      const why = status.reason ? `image policy webhook backend denied one or more images: ${status.reason}` : undefined
      throw forbid(request, why ?? 'one or more images rejected by webhook backend')
    },
  }
}

function reviewSpec(request: AdmissionRequest): object {
  const { subresource, namespace } = request
  const { metadata, spec } = objectOf(Pod, request)
  const containers = subresource === '' ? [...(spec.containers ?? []), ...(spec.initContainers ?? [])] : (spec.ephemeralContainers ?? [])
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.includes('.image-policy.k8s.io/'))
  return {
    containers: containers.map(({ image }) => ({ image })),
    ...omitEmpty({ annotations: Object.fromEntries(annotations) }),
    namespace,
  }
}

type Bounds = { unitMs: number; min: number; max: number; fallback: number }

function within(name: string, value = 0, { unitMs, min, max, fallback }: Bounds): number {
  if (value === -1) return 0
  if (value === 0) return fallback
  const ms = value * unitMs
  if (ms < min || ms > max) throw new Error(`ImagePolicyWebhook: the ${name} must be between ${min} and ${max} ms, got ${ms} ms`)
  return ms
}
