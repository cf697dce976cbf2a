/** The paths of the OpenAPI documents. What makes them is loaded when somebody asks: a cluster that nobody explains needs none of it. */
import type { RequestContext } from '#apiserver/http/context.ts'
import type { Endpoint } from '#apiserver/http/handler.ts'
import type { OpenApiOptions } from './documents.ts'

type Answers = typeof import('./answers.ts')
type Loaded = { answers: Answers; documents: Parameters<Answers['respondV2']>[1] }

/** Exact paths, and a prefix of others. */
export type OpenApiEndpoints = { paths: Map<string, Endpoint>; prefix: { prefix: string; endpoint: Endpoint } }

export function openApiEndpoints(options: OpenApiOptions): OpenApiEndpoints {
  let loading: Promise<Loaded> | undefined
  const load = async (): Promise<Loaded> => {
    const [answers, { OpenApiDocuments }] = await Promise.all([
      import('#apiserver/openapi/answers.ts'),
      import('#apiserver/openapi/documents.ts'),
    ])
    return { answers, documents: new OpenApiDocuments(options) }
  }
  const answered =
    (respond: (loaded: Loaded, context: RequestContext) => void | Promise<void>): Endpoint =>
    async (context) => {
      loading ??= load()
      await respond(await loading, context)
    }
  return {
    paths: new Map<string, Endpoint>([
      ['/openapi/v2', answered(({ answers, documents }, context) => answers.respondV2(context, documents))],
      ['/openapi/v3', answered(({ answers, documents }, context) => answers.respondIndex(context, documents))],
    ]),
    prefix: {
      prefix: '/openapi/v3/',
      endpoint: answered(({ answers, documents }, context) => answers.respondV3(context, documents, options.clock)),
    },
  }
}
