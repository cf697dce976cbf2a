import type { KubernetesObject } from '#api/resource.ts'
import { contentTypeOf, encodeValue } from '#apiserver/http/answers.ts'
import type { RequestContext } from '#apiserver/http/context.ts'
import { addWarnings, statusSchema } from '#apiserver/http/handler.ts'
import { formOf } from '#apiserver/http/resource-endpoints.ts'
import type { HttpHeaders } from '#base/http-server.ts'

/** Answers with an object that is stored nowhere. */
export function respondValue(context: RequestContext, value: KubernetesObject, schema: string, status: number): void {
  const form = formOf(context)
  const headers: HttpHeaders = { 'content-type': contentTypeOf(form) }
  addWarnings(context, headers)
  context.exchange.respond(status, headers, encodeValue(value, { ...form, as: 'object' }, schema))
}

export function respondSuccess(context: RequestContext, code: number): void {
  respondValue(context, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code } as KubernetesObject, statusSchema, code)
}
