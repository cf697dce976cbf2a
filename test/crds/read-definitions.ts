import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** The projects whose definitions are here, and how many each has. */
export const publishedDefinitions = { 'argo-cd': 3, 'cert-manager': 6, 'gateway-api': 10, 'prometheus-operator': 10 } as const

/** The YAML documents of a project, as published. */
export function definitionsOf(project: keyof typeof publishedDefinitions): string {
  return gunzipSync(readFileSync(join(import.meta.dirname, `${project}.yaml.gz`))).toString()
}
