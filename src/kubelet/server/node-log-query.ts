/** `/logs/?query=…`: what services of the machine have logged, by its journal or from files of the log directory. */
import { join } from 'node:path/posix'
import { quoted } from '#api/meta/check.ts'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import { Refusal } from '#kubelet/server/refusal.ts'

export type NodeLogTools = { files: Files; processes: Processes; directory: string }

type LogQuery = { services: string[]; file?: string; journalOptions: string[] }

const mostServices = 4
const longestService = 256
const mostLines = 100_000
const longestMs = 30_000
const unsafeCharacters = /[^a-zA-Z\-_0-9@:.]+/

/** Resolves with the text. Refuses in upstream's words what makes no sense. */
export async function nodeLogQuery(query: URLSearchParams, tools: NodeLogTools): Promise<string> {
  const { services, file, journalOptions } = readQuery(query)
  if (file !== undefined) {
    const text = await fileBelow(tools, file)
    if (text === undefined) throw new Refusal(400, invalid('query', file, 'no such file or directory'))
    return text
  }
  const known = await journalUnits(tools.processes)
  const ofJournal = services.filter((service) => known.has(`${service}.service`))
  const pieces: string[] = []
  if (ofJournal.length > 0) {
    const units = ofJournal.map((service) => `--unit=${service}`)
    const args = ['--utc', '--no-pager', '--output=short-precise', ...journalOptions, ...units]
    const { exitCode, stdout, stderr } = await tools.processes.run('journalctl', args, { signal: AbortSignal.timeout(longestMs) })
    pieces.push(exitCode === 0 ? stdout : `\nerror: journalctl output: ${stderr}`)
  }
  for (const service of services) if (!ofJournal.includes(service)) pieces.push(await logFileOf(service, tools))
  return pieces.join('')
}

function readQuery(query: URLSearchParams): LogQuery {
  const asked = query.getAll('query').filter((each) => each.trim() !== '')
  const problems: string[] = []
  if (asked.length === 0) problems.push(invalid('query', query.getAll('query').join(','), 'may not be empty'))
  const filesAsked = asked.filter((each) => /[/\\]/.test(each))
  const services = asked.filter((each) => !/[/\\]/.test(each))
  for (const service of services) {
    if (service.length > longestService) problems.push(invalid('query', service, `length must be less than ${longestService}`))
    if (unsafeCharacters.test(service)) problems.push(invalid('query', service, 'input contains unsupported characters'))
  }
  if (services.length > mostServices) problems.push(`query: Too many: ${services.length}: must have at most ${mostServices} items`)
  if (filesAsked.length > 0 && services.length > 0) problems.push(invalid('query', asked.join(', '), 'cannot specify a file and service'))
  if (filesAsked.length > 1) problems.push(invalid('query', filesAsked.join(', '), 'cannot specify more than one file'))
  const journalOptions = readOptions(query, problems)
  if (filesAsked.length > 0 && journalOptions.length > 0)
    problems.push(invalid('query', filesAsked.join(), 'cannot specify file with options'))
  if (problems.length > 0) throw new Refusal(400, problems.length === 1 ? `${problems[0]}\n` : `[${problems.join(', ')}]\n`)
  const [file] = filesAsked
  return { services, journalOptions, ...(file !== undefined && { file }) }
}

function readOptions(query: URLSearchParams, problems: string[]): string[] {
  const options: string[] = []
  const times = (['sinceTime', 'untilTime'] as const).map((name) => {
    const text = query.get(name) ?? ''
    if (text === '') return undefined
    const timeMs = Date.parse(text)
    if (!/^\d{4}-\d\d-\d\dT/.test(text) || Number.isNaN(timeMs)) problems.push(invalid(name, text, 'invalid time format'))
    else options.push(`--${name.replace('Time', '')}=${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')}`)
    return timeMs
  })
  const [sinceMs, untilMs] = times
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs > untilMs) {
    problems.push(invalid('untilTime', query.get('untilTime') ?? '', 'must be after `sinceTime`'))
  }
  const lines = wholeNumber(query, 'tailLines', problems)
  if (lines !== undefined && (lines < 0 || lines > mostLines)) {
    problems.push(`tailLines: Invalid value: ${lines}: must be between 0 and ${mostLines}, inclusive`)
  } else if (lines !== undefined) options.push('--pager-end', `--lines=${lines}`)
  const boot = wholeNumber(query, 'boot', problems)
  if (boot !== undefined && boot > 0) problems.push(`boot: Invalid value: ${boot}: must be less than 1`)
  else if (boot !== undefined) options.push('--boot', String(boot))
  const pattern = query.get('pattern') ?? ''
  if (pattern !== '') options.push(`--grep=${pattern}`)
  return options
}

function wholeNumber(query: URLSearchParams, name: string, problems: string[]): number | undefined {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (/^[+-]?\d+$/.test(text)) return Number(text)
  problems.push(invalid(name, text, `strconv.Atoi: parsing ${quoted(text)}: invalid syntax`))
  return undefined
}

const invalid = (field: string, value: string, why: string): string => `${field}: Invalid value: ${quoted(value)}: ${why}`

/** None where the machine has no journal. */
async function journalUnits(processes: Processes): Promise<Set<string>> {
  const signal = AbortSignal.timeout(longestMs)
  const { exitCode, stdout } = await processes
    .run('journalctl', ['--field', '_SYSTEMD_UNIT'], { signal })
    .catch(() => ({ exitCode: 1, stdout: '' }))
  return new Set(exitCode === 0 ? stdout.split('\n') : [])
}

async function logFileOf(service: string, tools: NodeLogTools): Promise<string> {
  for (const name of [service, `${service}.log`, `${service}/${service}.log`]) {
    const text = await fileBelow(tools, name)
    if (text !== undefined) return text
  }
  return `\nlog not found for ${service}\n`
}

/** A whole file of the log directory. Links are not followed: they may lead anywhere. */
async function fileBelow({ files, directory }: NodeLogTools, path: string): Promise<string | undefined> {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.some((part) => part === '..' || part.includes('\0') || part.includes('\\'))) return undefined
  for (let depth = 1; depth < parts.length; depth++) {
    if ((await files.stat(join(directory, ...parts.slice(0, depth))))?.kind !== 'directory') return undefined
  }
  const place = join(directory, ...parts)
  return (await files.stat(place))?.kind === 'file' ? files.readText(place) : undefined
}
