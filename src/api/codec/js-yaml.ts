import { createRequire } from 'node:module'

type JsYaml = typeof import('js-yaml')

let loaded: JsYaml | undefined

/** The parser, loaded when the first YAML comes: most servers never see any, and all start faster without it. */
export function jsYaml(): JsYaml {
  loaded ??= createRequire(import.meta.url)('js-yaml') as JsYaml
  return loaded
}
