/** The recorded conversations: how one is written down, and where it is kept. */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { diffableJson, type Fields, type Json, parseExactly } from './exact-json.ts'

export type Answer = { status: number; headers?: Record<string, string | string[]>; body?: Json; events?: Json[] }

/** The fields are described in README.md beside this file. */
export type Step = {
  method?: string
  path: string
  headers?: Record<string, string | null>
  body?: Json
  rawBody?: string
  capture?: Record<string, string>
  wait?: number
  pick?: string[]
  retry?: { status: number; seconds: number }
  compare?: 'status' | 'keys'
  unordered?: string[]
  watch?: boolean
  until?: { events?: number; seconds?: number }
  during?: Step[]
  expect?: Answer
}

export type Scenario = { id: string; area: string; serviceAccount?: boolean; namespaceLabels?: Record<string, string>; steps: Step[] }

export const recordings = join(import.meta.dirname, 'recordings')

/** `area/kind.json` where the conversations of an area are told apart by kind, else `area.json`. */
export function fileOf({ id, area }: Scenario): string {
  const parts = id.split('/')
  return parts.length > 2 ? join(area, `${parts[1]}.json`) : `${area}.json`
}

/** Every recorded conversation, or those of the files whose path under `recordings` matches. */
export function readScenarios(pattern = '**/*.json', directory = recordings): Scenario[] {
  const files = globSync(pattern, { cwd: directory }).sort()
  if (files.length === 0) throw new Error(`no recorded conversations match ${join(directory, pattern)}`)
  return files.flatMap((file) => parseExactly(readFileSync(join(directory, file), 'utf8')) as unknown as Scenario[])
}

/** Overwrites the files that these scenarios belong to; scenarios of one file are given together. */
export function writeScenarios(scenarios: readonly Scenario[], directory = recordings): void {
  for (const [file, group] of Map.groupBy(scenarios, fileOf)) {
    const path = join(directory, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `[\n${group.map((each) => diffableJson(each as unknown as Fields)).join(',\n')}\n]\n`)
  }
}
