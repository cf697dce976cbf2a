import type { V1beta1PodCertificateRequest } from '#api/certificates/v1beta1/types.gen.ts'
import { quoted } from '#api/meta/check.ts'
import { equalJson } from '#api/meta/patch/json-value.ts'
import { mayActForSigner } from '#apiserver/admission/certificates/signer-permission.ts'
import type { ObjectValidator } from '#apiserver/authz/object-permissions/object-permissions.ts'

/** Who answers a request for a certificate speaks for its signer. */
export const validateCertificateSigning: ObjectValidator<V1beta1PodCertificateRequest> = async (
  next,
  prev,
  { user, subresource },
  check,
  { authorizer },
) => {
  if (subresource !== 'status' || prev === undefined) return
  const { status, spec } = prev
  if (equalJson(status ?? {}, next.status ?? {})) return
  const { signerName = '' } = spec ?? {}
  if (await mayActForSigner(authorizer, user, 'sign', signerName)) return
  check
    .dynamic('spec')
    .at('signerName')
    .forbidden(`User ${quoted(user.name)} is not permitted to "sign" for signer ${quoted(signerName)}`)
}
