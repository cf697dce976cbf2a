/** Validates projected volumes: several sources whose files share one directory. */
import { validateFieldRef, validateResourceFieldRef, volumeFieldPaths } from '#api/core/v1/pod-spec/downward-api.ts'
import { validateFileMode, validateLocalPath } from '#api/core/v1/pod-spec/paths.ts'
import type { PodValidationOptions } from '#api/core/v1/pod-spec/validation-options.ts'
import { trustBundleNameErrors, validateSignerName } from '#api/core/v1/signer-names.ts'
import type {
  V1ClusterTrustBundleProjection,
  V1DownwardAPIVolumeFile,
  V1KeyToPath,
  V1PodCertificateProjection,
  V1PodSpec,
  V1ProjectedVolumeSource,
  V1ServiceAccountTokenProjection,
  V1VolumeProjection,
} from '#api/core/v1/types.gen.ts'
import { validateKeyToPath } from '#api/core/v1/volume-sources.ts'
import { Check } from '#api/meta/check.ts'
import { domainPrefixedKey } from '#api/meta/formats.ts'
import { annotationsMaxBytes, validateLabelSelector } from '#api/meta/labels.ts'
import { byteLength } from '#api/meta/names.ts'
import { asInternal } from '#api/meta/quote-internal.ts'

/** `check` stands where upstream reports: at the volume source, not at the file. */
export function validateDownwardApiFile(check: Check<V1DownwardAPIVolumeFile>): void {
  const file = check.value
  if (!file.path) check.at('path').required()
  else validateLocalPath(check.at('path'))
  if (file.fieldRef) {
    validateFieldRef(check.at('fieldRef').present, volumeFieldPaths)
    if (file.resourceFieldRef) check.invalid('fieldRef and resourceFieldRef can not be specified simultaneously', 'resource')
  } else if (file.resourceFieldRef) {
    validateResourceFieldRef(check.at('resourceFieldRef').present, true)
  } else check.required('one of fieldRef and resourceFieldRef is required')
  validateFileMode(check.at('mode'))
}

/** `check` stands at the source `projected`. */
export function validateProjected(check: Check<V1ProjectedVolumeSource>, options: PodValidationOptions): void {
  validateFileMode(check.at('defaultMode'))
  const files = new Files(check)
  for (const at of check.at('sources').items()) validateProjection(at, files, check, options)
}

/** The paths that earlier sources have taken. */
class Files {
  readonly #paths = new Set<string>()
  readonly #check: Check<unknown>

  constructor(check: Check<unknown>) {
    this.#check = check
  }

  /** `shown` is what the error names. */
  take(path: string, shown = path): void {
    if (this.#paths.has(path)) this.#check.invalid('conflicting duplicate paths', shown)
    else this.#paths.add(path)
  }
}

function validateProjection(
  check: Check<V1VolumeProjection>,
  files: Files,
  volume: Check<V1ProjectedVolumeSource>,
  options: PodValidationOptions,
): void {
  const projection = check.value
  let sources = 0
  if (projection.secret) {
    sources++
    validateKeys(check.at('secret').present, files)
  }
  if (projection.configMap) {
    sources++
    validateKeys(check.at('configMap').present, files)
  }
  if (projection.downwardAPI) {
    sources++
    for (const file of projection.downwardAPI.items ?? []) {
      validateDownwardApiFile(check.at('downwardAPI').with(file))
      if (file.path) files.take(file.path)
    }
  }
  if (projection.serviceAccountToken) {
    sources++
    validateToken(check.at('serviceAccountToken').present, volume, options)
  }
  if (projection.clusterTrustBundle) {
    sources++
    validateTrustBundle(check.at('clusterTrustBundle').present)
    files.take(projection.clusterTrustBundle.path ?? '')
  }
  if (projection.podCertificate) {
    sources++
    validatePodCertificate(check.at('podCertificate').present, files)
  }
  if (sources > 1) check.forbidden('may not specify more than 1 volume type per source')
}

function validateKeys(check: Check<{ name?: string; items?: V1KeyToPath[] }>, files: Files): void {
  const source = check.value
  if (!source.name) check.at('name').required()
  for (const at of check.at('items').items()) {
    const item = at.value
    validateKeyToPath(at)
    if (item.path) files.take(item.path, source.name ?? '')
  }
}

const shortestTokenSeconds = 600
const longestTokenSeconds = 2 ** 32

/** What is wrong with the path is reported at the volume. */
function validateToken(
  check: Check<V1ServiceAccountTokenProjection>,
  volume: Check<V1ProjectedVolumeSource>,
  options: PodValidationOptions,
): void {
  const token = check.value
  const seconds = token.expirationSeconds ?? 0
  if (seconds < shortestTokenSeconds) check.at('expirationSeconds').invalid('may not specify a duration less than 10 minutes', seconds)
  if (seconds > longestTokenSeconds) {
    check.at('expirationSeconds').invalid('may not specify a duration larger than 2^32 seconds', seconds)
  }
  if (!token.path) volume.dynamic('path').required()
  else if (!options.allowNonLocalTokenPath) validateLocalPath(volume.dynamic('path').with(token.path))
}

function validateTrustBundle(check: Check<V1ClusterTrustBundleProjection>): void {
  const bundle = check.value
  const { name, signerName, labelSelector, path } = bundle
  if (name !== undefined && signerName !== undefined) {
    check.invalid('only one of name and signerName may be used', asInternal('core.ClusterTrustBundleProjection', bundle))
  } else if (name !== undefined) {
    if (name === '') check.at('name').required('must be a valid object name')
    for (const message of trustBundleNameErrors(name)) {
      check.at('name').invalid(`not a valid clustertrustbundlename: ${message}`)
    }
    if (labelSelector) {
      const shown = asInternal('meta.LabelSelector', labelSelector)
      check.at('labelSelector').invalid('labelSelector must be unset if name is specified', shown)
    }
  } else if (signerName !== undefined) {
    if (signerName === '') check.at('signerName').required('must be a valid signer name')
    validateSignerName(check.at('signerName').present)
    validateLabelSelector(check.at('labelSelector'))
  } else check.required('either name or signerName must be specified')
  if (!path) check.at('path').required()
  validateLocalPath(check.at('path').or(''))
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519']
const daySeconds = 86400
const longestCertificateDays = 91

function validatePodCertificate(check: Check<V1PodCertificateProjection>, files: Files): void {
  const certificate = check.value
  validateSignerName(check.at('signerName').or(''))
  if (certificate.userAnnotations) validateUserAnnotations(check.at('userAnnotations').present)
  if (!keyTypes.includes(certificate.keyType ?? '')) check.at('keyType').or('').notSupported(keyTypes)
  const seconds = certificate.maxExpirationSeconds
  if (seconds !== undefined) {
    const at = check.at('maxExpirationSeconds')
    if (seconds < 3600) at.invalid('if provided, maxExpirationSeconds must be >= 3600')
    const longest = isKubernetesSigner(certificate.signerName ?? '') ? daySeconds : longestCertificateDays * daySeconds
    if (seconds > longest) at.invalid(`if provided, maxExpirationSeconds must be <= ${longest}`)
  }
  let paths = 0
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const path = certificate[field]
    if (!path) continue
    paths++
    validateLocalPath(check.at(field).with(path))
    files.take(path)
  }
  if (paths === 0) check.required('specify at least one of credentialBundlePath, keyPath, and certificateChainPath')
}

export function validateUserAnnotations(check: Check<{ [key: string]: string }>): void {
  const annotations = check.value
  let size = 0
  for (const [key, value] of Object.entries(annotations)) {
    domainPrefixedKey(check.with(key.toLowerCase()))
    size += byteLength(key) + byteLength(value)
  }
  if (size > annotationsMaxBytes) check.tooLong(annotationsMaxBytes)
}

export function isKubernetesSigner(signerName: string): boolean {
  const [host = ''] = signerName.split('/', 1)
  return host === 'kubernetes.io' || host.endsWith('.kubernetes.io')
}

/** Whether an update must let such paths pass, because the stored spec already has them. */
export function hasNonLocalTokenPath(spec: V1PodSpec): boolean {
  const check = new Check()
  for (const { projected } of spec.volumes ?? []) {
    for (const { serviceAccountToken } of projected?.sources ?? []) {
      if (serviceAccountToken) validateLocalPath(check.with(serviceAccountToken.path ?? ''))
    }
  }
  return check.failed
}
