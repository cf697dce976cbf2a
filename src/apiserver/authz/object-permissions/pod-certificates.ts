import { quoted } from '#api/meta/check.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { mayActForSigner } from '#apiserver/admission/certificates/signer-permission.ts'
import type { ObjectValidator } from '#apiserver/authz/object-permissions/object-permissions.ts'

type PodCertificateRequest = { spec?: { signerName?: string }; status?: object }

/** Who answers a request for a certificate speaks for its signer. */
export const validateCertificateSigning: ObjectValidator = async (next, prev, { user, subresource }, check, { authorizer }) => {
  if (subresource !== 'status' || prev === undefined) return
  const { status, spec } = prev as PodCertificateRequest
  if (equalJson(status ?? {}, (next as PodCertificateRequest).status ?? {})) return
  const { signerName = '' } = spec ?? {}
  if (await mayActForSigner(authorizer, user, 'sign', signerName)) return
  check
    .dynamic('spec')
    .at('signerName')
    .forbidden(`User ${quoted(user.name)} is not permitted to "sign" for signer ${quoted(signerName)}`)
}
