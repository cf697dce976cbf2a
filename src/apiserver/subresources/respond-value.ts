import type { KubernetesObject } from '#api/resource.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import { formOf } from '#apiserver/http/asked-form.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { addWarnings, statusSchema } from '#apiserver/http/handler.ts'
import type { Form } from '#apiserver/http/negotiation.ts'
import type { HttpHeaders } from '#base/http-server.ts'

/** The form of an answer that is stored nowhere, and hence has no columns. Throws 406; asked for before anything is done. */
export const valueFormOf = (context: RequestContext): Form => formOf(context, { hasNoTable: true })

/** Answers with an object that is stored nowhere. */
export function respondValue(context: RequestContext, value: KubernetesObject, schema: string, status: number): void {
  const form = valueFormOf(context)
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  context.exchange.respond(status, headers, encodeValue(value, { ...form, as: 'object' }, schema))
}

export function respondSuccess(context: RequestContext, code: number): void {
  respondValue(context, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code } as KubernetesObject, statusSchema, code)
}
