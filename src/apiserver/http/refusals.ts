/** Refusals that only the HTTP edge gives, in upstream's words. */

import { type GroupResource, groupResourceText } from '#api/meta/gvk.ts'
import { forbidden, StatusError, unsupportedMediaType } from '#api/meta/status-error.ts'
import type { V1Status } from '#api/meta/v1/types.gen.ts'
import type { Forbidden } from '#apiserver/authz/forbidden.ts'

function refusal(code: number, message: string, more: Partial<V1Status> = {}): StatusError {
  return new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, ...more, code })
}

export function serverCouldNotFind(): StatusError {
  return refusal(404, 'the server could not find the requested resource', { reason: 'NotFound', details: {} })
}

export function methodNotAllowed(): StatusError {
  return refusal(405, 'the server does not allow this method on the requested resource', { reason: 'MethodNotAllowed', details: {} })
}

/** None of the client's media types means anything here. */
export function unknownAccept(isList: boolean): StatusError {
  const media = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
  const streams = isList ? ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'] : []
  const message = `406: Not Acceptable\n\nAvailable representations: ${[...media, ...streams].join(', ')}`
  return refusal(406, message, { reason: 'NotAcceptable', details: {} })
}

/** A patch of a type nobody knows. */
/** Kinds without Go types take no strategic merge patches. */
export function unknownPatchType(isUntyped: boolean): StatusError {
  if (isUntyped)
    return unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'])
  return refusal(415, '415: Unsupported Media Type', { reason: 'UnsupportedMediaType', details: {} })
}

export function verbNotSupported(subject: GroupResource, verb: string): StatusError {
  return refusal(405, `${verb} is not supported on resources of kind ${JSON.stringify(groupResourceText(subject))}`, {
    reason: 'MethodNotAllowed',
    details: { group: subject.group, kind: subject.resource },
  })
}

export function resourceVersionTooLarge(asked: number, current: number): StatusError {
  return refusal(504, `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    reason: 'Timeout',
    details: { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
  })
}

/** The page a token stands for is gone; the new one goes on from there, but no longer at the old revision. */
export function expiredContinue(token: string): StatusError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.'
  return refusal(410, message, { reason: 'Expired', metadata: { continue: token } })
}

export function watchNotAcceptable(): StatusError {
  return refusal(
    406,
    'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    {
      reason: 'NotAcceptable',
    },
  )
}

export function failure(code: number, message: string): StatusError {
  return refusal(code, message)
}

export function denied(error: Forbidden): StatusError {
  return new StatusError({
    ...forbidden({ group: error.group, resource: error.resource }, error.objectName, '').status,
    message: error.message,
  })
}
