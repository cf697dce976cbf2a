/** Judges projected volumes: several sources whose files share one directory. */
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
export function validateDownwardApiFile(file: V1DownwardAPIVolumeFile, check: Check): void {
  if (!file.path) check.at('path').required()
  else validateLocalPath(file.path, check.at('path'))
  if (file.fieldRef) {
    validateFieldRef(file.fieldRef, volumeFieldPaths, check.at('fieldRef'))
    if (file.resourceFieldRef) check.invalid('resource', 'fieldRef and resourceFieldRef can not be specified simultaneously')
  } else if (file.resourceFieldRef) {
    validateResourceFieldRef(file.resourceFieldRef, true, check.at('resourceFieldRef'))
  } else check.required('one of fieldRef and resourceFieldRef is required')
  validateFileMode(file.mode, check.at('mode'))
}

/** `check` stands at the source `projected`. */
export function validateProjected(projected: V1ProjectedVolumeSource, check: Check, options: PodValidationOptions): void {
  validateFileMode(projected.defaultMode, check.at('defaultMode'))
  const files = new Files(check)
  for (const [index, projection] of (projected.sources ?? []).entries()) {
    validateProjection(projection, files, check, check.at('sources').at(index), options)
  }
}

/** The paths that earlier sources have taken. */
class Files {
  readonly #paths = new Set<string>()
  readonly #check: Check

  constructor(check: Check) {
    this.#check = check
  }

  /** `shown` is what the error names. */
  take(path: string, shown = path): void {
    if (this.#paths.has(path)) this.#check.invalid(shown, 'conflicting duplicate paths')
    else this.#paths.add(path)
  }
}

function validateProjection(
  projection: V1VolumeProjection,
  files: Files,
  volume: Check,
  check: Check,
  options: PodValidationOptions,
): void {
  let sources = 0
  if (projection.secret) {
    sources++
    validateKeys(projection.secret, files, check.at('secret'))
  }
  if (projection.configMap) {
    sources++
    validateKeys(projection.configMap, files, check.at('configMap'))
  }
  if (projection.downwardAPI) {
    sources++
    for (const file of projection.downwardAPI.items ?? []) {
      validateDownwardApiFile(file, check.at('downwardAPI'))
      if (file.path) files.take(file.path)
    }
  }
  if (projection.serviceAccountToken) {
    sources++
    validateToken(projection.serviceAccountToken, volume, check.at('serviceAccountToken'), options)
  }
  if (projection.clusterTrustBundle) {
    sources++
    validateTrustBundle(projection.clusterTrustBundle, check.at('clusterTrustBundle'))
    files.take(projection.clusterTrustBundle.path ?? '')
  }
  if (projection.podCertificate) {
    sources++
    validatePodCertificate(projection.podCertificate, files, check.at('podCertificate'))
  }
  if (sources > 1) check.forbidden('may not specify more than 1 volume type per source')
}

function validateKeys(source: { name?: string; items?: V1KeyToPath[] }, files: Files, check: Check): void {
  if (!source.name) check.at('name').required()
  for (const [index, item] of (source.items ?? []).entries()) {
    validateKeyToPath(item, check.at('items').at(index))
    if (item.path) files.take(item.path, source.name ?? '')
  }
}

const shortestTokenSeconds = 600
const longestTokenSeconds = 2 ** 32

function validateToken(token: V1ServiceAccountTokenProjection, volume: Check, check: Check, options: PodValidationOptions): void {
  const seconds = token.expirationSeconds ?? 0
  if (seconds < shortestTokenSeconds) check.at('expirationSeconds').invalid(seconds, 'may not specify a duration less than 10 minutes')
  if (seconds > longestTokenSeconds) {
    check.at('expirationSeconds').invalid(seconds, 'may not specify a duration larger than 2^32 seconds')
  }
  if (!token.path) volume.at('path').required()
  else if (!options.allowNonLocalTokenPath) validateLocalPath(token.path, volume.at('path'))
}

function validateTrustBundle(bundle: V1ClusterTrustBundleProjection, check: Check): void {
  const { name, signerName, labelSelector, path } = bundle
  if (name !== undefined && signerName !== undefined) {
    check.invalid(asInternal('core.ClusterTrustBundleProjection', bundle), 'only one of name and signerName may be used')
  } else if (name !== undefined) {
    if (name === '') check.at('name').required('must be a valid object name')
    for (const message of trustBundleNameErrors(name)) {
      check.at('name').invalid(name, `not a valid clustertrustbundlename: ${message}`)
    }
    if (labelSelector) {
      const shown = asInternal('meta.LabelSelector', labelSelector)
      check.at('labelSelector').invalid(shown, 'labelSelector must be unset if name is specified')
    }
  } else if (signerName !== undefined) {
    if (signerName === '') check.at('signerName').required('must be a valid signer name')
    validateSignerName(signerName, check.at('signerName'))
    validateLabelSelector(labelSelector, check.at('labelSelector'))
  } else check.required('either name or signerName must be specified')
  if (!path) check.at('path').required()
  validateLocalPath(path ?? '', check.at('path'))
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519']
const daySeconds = 86400
const longestCertificateDays = 91

function validatePodCertificate(certificate: V1PodCertificateProjection, files: Files, check: Check): void {
  validateSignerName(certificate.signerName ?? '', check.at('signerName'))
  if (certificate.userAnnotations) validateUserAnnotations(certificate.userAnnotations, check.at('userAnnotations'))
  if (!keyTypes.includes(certificate.keyType ?? '')) check.at('keyType').notSupported(certificate.keyType ?? '', keyTypes)
  const seconds = certificate.maxExpirationSeconds
  if (seconds !== undefined) {
    const at = check.at('maxExpirationSeconds')
    if (seconds < 3600) at.invalid(seconds, 'if provided, maxExpirationSeconds must be >= 3600')
    const longest = isKubernetesSigner(certificate.signerName ?? '') ? daySeconds : longestCertificateDays * daySeconds
    if (seconds > longest) at.invalid(seconds, `if provided, maxExpirationSeconds must be <= ${longest}`)
  }
  let paths = 0
  for (const field of ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const) {
    const path = certificate[field]
    if (!path) continue
    paths++
    validateLocalPath(path, check.at(field))
    files.take(path)
  }
  if (paths === 0) check.required('specify at least one of credentialBundlePath, keyPath, and certificateChainPath')
}

export function validateUserAnnotations(annotations: { [key: string]: string }, check: Check): void {
  let size = 0
  for (const [key, value] of Object.entries(annotations)) {
    domainPrefixedKey(key.toLowerCase(), check)
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
      if (serviceAccountToken) validateLocalPath(serviceAccountToken.path ?? '', check)
    }
  }
  return check.failed
}
