import { CertificateSigningRequest } from '#api/certificates/v1/kinds.gen.ts'
import { certificateError, signingRequestError } from '#api/certificates/v1/pem-errors.ts'
import type { V1CertificateSigningRequest, V1CertificateSigningRequestCondition } from '#api/certificates/v1/types.gen.ts'
import { validateSignerName } from '#api/core/v1/signer-names.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { validateObjectMeta, validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import type { RuleContext } from '#api/resource.ts'

const sameConditions = equalityOf(CertificateSigningRequest).at('status').at('conditions')

const keyUsages = [
  ...['any', 'cert sign', 'client auth', 'code signing', 'content commitment', 'crl sign', 'data encipherment', 'decipher only'],
  ...['digital signature', 'email protection', 'encipher only', 'ipsec end system', 'ipsec tunnel', 'ipsec user', 'key agreement'],
  ...['key encipherment', 'microsoft sgc', 'netscape sgc', 'ocsp signing', 's/mime', 'server auth', 'signing', 'timestamping'],
]

const legacyUnknownSigner = 'kubernetes.io/legacy-unknown'

/** What v1beta1 let pass: other signers, usages and conditions, and any text for a certificate. */
const isLenient = ({ requestVersion }: RuleContext): boolean => requestVersion === 'certificates.k8s.io/v1beta1'

/** Validates the request as it stands. What `prev` already has wrong is let through. */
export function validateSigningRequest(
  check: Check<V1CertificateSigningRequest>,
  context: RuleContext,
  prev?: V1CertificateSigningRequest,
): void {
  const request = check.value
  const { request: pem = '', usages = [], signerName = '', expirationSeconds } = request.spec ?? {}
  const spec = check.at('spec')
  const error = signingRequestError(pem)
  if (error !== undefined) spec.at('request').invalid(error, pem === '' ? null : pem)
  if (usages.length === 0) spec.at('usages').required()
  if (!isLenient(context)) validateUsages(spec.at('usages').with(usages), prev?.spec?.usages ?? [])
  if (signerName === legacyUnknownSigner && prev?.spec?.signerName !== legacyUnknownSigner && !isLenient(context)) {
    spec.at('signerName').invalid('the legacy signerName is not allowed via this API version', signerName)
  } else validateSignerName(spec.at('signerName').with(signerName))
  if (expirationSeconds != null && expirationSeconds < 600) {
    spec.at('expirationSeconds').invalid('may not specify a duration less than 600 seconds (10 minutes)', expirationSeconds)
  }
  validateConditions(check.at('status').at('conditions').or([]), prev?.status?.conditions ?? [], isLenient(context))

  const { certificate } = request.status ?? {}
  const isUntouched = prev !== undefined && (certificate ?? '') === (prev.status?.certificate ?? '')
  if (isLenient(context) || isUntouched || certificateError(prev?.status?.certificate) !== undefined) return
  const certificateFault = certificateError(certificate)
  if (certificateFault !== undefined) check.at('status').at('certificate').invalid(certificateFault, '<certificate data>')
}

function validateUsages(check: Check<readonly string[]>, prev: readonly string[]): void {
  if (prev.every((usage) => keyUsages.includes(usage))) {
    check.each((item) => {
      const usage = item.value
      if (!keyUsages.includes(usage)) item.notSupported(keyUsages)
    })
  }
  if (hasDuplicates(prev)) return
  const seen = new Set<string>()
  check.each((item) => {
    const usage = item.value
    if (seen.has(usage)) item.duplicate()
    seen.add(usage)
  })
}

type Conditions = readonly V1CertificateSigningRequestCondition[]

const hasDuplicates = (values: readonly string[]): boolean => new Set(values).size < values.length

function validateConditions(check: Check<Conditions>, prev: Conditions, lenient: boolean): void {
  const prevTypes = prev.map(({ type }) => type)
  const mayContradict = prevTypes.includes('Approved') && prevTypes.includes('Denied')
  const mayRepeat = lenient || hasDuplicates(prevTypes)
  const seen = new Set<string>()
  check.each((item) => {
    const { type = '', status = '' } = item.value
    if (type === '' && !lenient && !prevTypes.includes('')) item.at('type').required()
    const allowed = finalConditions.includes(type) ? ['True'] : ['False', 'True', 'Unknown']
    if (status === '') item.at('status').required()
    else if (!allowed.includes(status)) item.at('status').or('').notSupported(allowed)
    const opposite = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : undefined
    if (opposite !== undefined && seen.has(opposite) && !mayContradict) {
      check.invalid('Approved and Denied conditions are mutually exclusive', type)
    }
    if (seen.has(type) && !mayRepeat) item.at('type').or('').duplicate()
    seen.add(type)
  })
}

/** What an endpoint is for. */
export type Permissions = { maySetCertificate?: boolean; mayApprove?: boolean }

const finalConditions = ['Approved', 'Denied', 'Failed']
const decisionTypes = ['Approved', 'Denied']

export function validateSigningRequestUpdate(
  check: Check<V1CertificateSigningRequest>,
  prev: V1CertificateSigningRequest,
  context: RuleContext,
  { maySetCertificate = false, mayApprove = false }: Permissions = {},
): void {
  const next = check.value
  validateObjectMeta(check.at('metadata'), { scope: 'Cluster', nameRule: () => [] })
  validateSigningRequest(check, context, prev)
  validateFinalConditions(check.at('status').at('conditions').or([]), prev.status?.conditions ?? [], mayApprove)
  const before = prev.status?.certificate ?? ''
  if ((next.status?.certificate ?? '') !== before) {
    if (!maySetCertificate) check.at('status').at('certificate').forbidden('updates may not set certificate content')
    else if (before !== '' && !isLenient(context))
      check.at('status').at('certificate').forbidden('updates may not modify existing certificate content')
  }
  validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
}

function validateFinalConditions(check: Check<Conditions>, prev: Conditions, mayApprove: boolean): void {
  const conditions = check.value
  const of = (all: Conditions, type: string) => all.filter((condition) => condition.type === type)
  for (const type of finalConditions) {
    if (of(conditions, type).length < of(prev, type).length) {
      check.forbidden(`updates may not remove a condition of type ${quoted(type)}`)
    }
  }
  if (mayApprove) return
  for (const type of decisionTypes) {
    const [now, before] = [of(conditions, type), of(prev, type)]
    if (now.length > before.length) check.forbidden(`updates may not add a condition of type ${quoted(type)}`)
    else if (now.length === before.length && !sameConditions(now, before)) {
      check.forbidden(`updates may not modify a condition of type ${quoted(type)}`)
    }
  }
}
