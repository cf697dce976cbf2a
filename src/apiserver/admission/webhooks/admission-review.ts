/** The question a webhook is asked, and the checks that make an answer of what it sends. */

import { DecodeError } from '#api/codec/decode-error.ts'
import { type JsonDocument, readJson } from '#api/codec/json.ts'
import { jsonText } from '#api/codec/json-text.ts'
import { quoted } from '#api/meta/check.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { ShownVersion } from '#apiserver/admission/shown-version.ts'
import { omitEmpty } from '#base/omit-empty.ts'

export type ReviewVersion = 'v1' | 'v1beta1'

export type ReviewAnswer = {
  readonly isAllowed: boolean
  readonly status: V1Status | undefined
  /** JSON, not yet looked at. */
  readonly patch: string | undefined
  readonly auditAnnotations: Readonly<Record<string, string>>
  readonly warnings: readonly string[]
}

/** The first version the webhook names that this server speaks. */
export function reviewVersion(versions: readonly string[] = []): ReviewVersion | undefined {
  return versions.find((version): version is ReviewVersion => version === 'v1' || version === 'v1beta1')
}

export async function reviewText(version: ReviewVersion, uid: string, request: AdmissionRequest, shown: ShownVersion): Promise<string> {
  const { user, subresource, name, namespace } = request
  const hasOptions = Object.keys(request.options).length > 0
  return jsonText({
    kind: 'AdmissionReview',
    apiVersion: `admission.k8s.io/${version}`,
    request: {
      uid,
      kind: plainKind(shown.kind),
      resource: shown.resource,
      ...omitEmpty({ subResource: subresource }),
      requestKind: plainKind(request.kind),
      requestResource: request.resource,
      ...omitEmpty({ requestSubResource: subresource, name, namespace }),
      operation: request.operation,
      userInfo: {
        ...omitEmpty({ username: user.name, uid: user.uid, groups: user.groups, extra: user.extra }),
      },
      object: (await shown.object()) ?? null,
      oldObject: (await shown.oldObject()) ?? null,
      dryRun: request.isDryRun,
      options: hasOptions ? request.options : null,
    },
  })
}

/** Who asks may know more of the kind. */
const plainKind = ({ group, version, kind }: AdmissionRequest['kind']) => ({ group, version, kind })

type Review = {
  kind?: string
  apiVersion?: string
  response?: {
    uid: string
    allowed?: boolean
    status?: V1Status
    patch?: string
    patchType?: string
    auditAnnotations?: Record<string, string>
    warnings?: string[]
  }
}

/** The answer is none. */
export class UnreadableAnswer extends Error {}

/** Throws `UnreadableAnswer` for what is no review at all, and an Error for a review that breaks the rules. */
export function reviewAnswer(text: string, version: ReviewVersion, uid: string, isMutating: boolean): ReviewAnswer {
  const { response, ...type } = decoded(text, version)
  if (response == null) throw new Error('webhook response was absent')
  // Answers of the old version were never checked: webhooks that got it wrong go on working.
  if (version === 'v1') {
    mustFit(type, response.uid, uid)
    mustPatchProperly(response, isMutating)
  }
  return {
    isAllowed: response.allowed === true,
    status: response.status,
    patch: isMutating && response.patch ? Buffer.from(response.patch, 'base64').toString('utf8') : undefined,
    auditAnnotations: response.auditAnnotations ?? {},
    warnings: response.warnings ?? [],
  }
}

function decoded(text: string, version: ReviewVersion): Review {
  let document: JsonDocument
  try {
    document = readJson(Buffer.from(text))
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new UnreadableAnswer(`couldn't get version/kind; json parse error: ${error.message}`, { cause: error })
  }
  try {
    return document.decode<Review>(`io.k8s.api.admission.${version}.AdmissionReview`).object
  } catch (error) {
    throw error instanceof DecodeError ? new UnreadableAnswer(error.message, { cause: error }) : error
  }
}

function mustFit({ kind = '', apiVersion = '' }: Review, answered: string | undefined, uid: string): void {
  if (answered !== uid) throw new Error(`expected response.uid=${quoted(uid)}, got ${quoted(answered ?? '')}`)
  if (kind === 'AdmissionReview' && apiVersion === 'admission.k8s.io/v1') return
  const got = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`
  throw new Error(`expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${got}, Kind=${kind}`)
}

function mustPatchProperly({ patch = '', patchType }: NonNullable<Review['response']>, isMutating: boolean): void {
  if (!isMutating) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch')
    if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType')
    return
  }
  if (patch !== '' && patchType === undefined) throw new Error('webhook returned response.patch but not response.patchType')
  if (patch === '' && patchType !== undefined) throw new Error('webhook returned response.patchType but not response.patch')
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""')
  if (patchType !== undefined && patchType !== 'JSONPatch') throw new UnsupportedPatchType(`unsupported patch type ${quoted(patchType)}`)
}

export class UnsupportedPatchType extends Error {}
