/** `kubectl config set users.me.token …`: a field of a kubeconfig by its path, in which names may hold dots. */
import { CliError } from '#cli/cli-error.ts'
import { type ConfigSection, entryField } from '#cli/session/kubeconfig-files.ts'
import type { RawConfig } from './edit-config.ts'
import { entryFields, fieldKind } from './typed-entry.ts'

type Entry = { name: string } & Record<string, Record<string, unknown> | string>

/** Undefined unsets. */
export function setProperty(config: RawConfig, path: string, value: string | undefined, { isRaw = false }: { isRaw?: boolean } = {}): void {
  const [section = '', ...rest] = path.split('.')
  const field = entryField[section as ConfigSection]
  if (field === undefined) {
    setTop(config, path, section, rest, value)
    return
  }
  if (rest.length === 0) {
    if (value !== undefined) throw new CliError(`can't set a map to a value: ${section}`)
    config[section] = null
    return
  }
  const known = new Set(Object.keys(entryFields[section as ConfigSection]).map((each) => each.replace('!', '')))
  const end = rest.findIndex((part, index) => index > 0 && known.has(part))
  const name = (end < 0 ? rest : rest.slice(0, end)).join('.')
  const [key, ...more] = end < 0 ? [] : rest.slice(end)
  const entries = [...((config[section] as Entry[] | null | undefined) ?? [])]
  const at = entries.findIndex((entry) => entry.name === name)
  if (key === undefined) {
    if (value !== undefined) throw new CliError(`can't set a map to a value: ${section}`)
    config[section] = at < 0 ? config[section] : entries.toSpliced(at, 1)
    return
  }
  if (more.length > 0) throw new CliError(`unable to parse one or more field values of ${path}`)
  if (at < 0 && value === undefined) throw new CliError(`current map key \`${name}\` is invalid`)
  const inside = { ...((entries[at]?.[field] as Record<string, unknown> | undefined) ?? {}) }
  if (value === undefined) delete inside[key]
  else inside[key] = typedValue(section as ConfigSection, key, value, isRaw)
  const next = { ...(entries[at] ?? { name }), [field]: inside } as Entry
  config[section] = at < 0 ? [...entries, next] : entries.with(at, next)
}

function typedValue(section: ConfigSection, key: string, value: string, isRaw: boolean): unknown {
  const kind = fieldKind(section, key)
  if (kind === 'flag') return truth(value)
  if (kind !== 'bytes') return value
  if (isRaw) return Buffer.from(value).toString('base64')
  const decoded = Buffer.from(value, 'base64')
  if (decoded.toString('base64') !== value)
    throw new CliError(
      `error decoding input value: illegal base64 data at input byte ${Math.min(decoded.toString('base64').length, value.length)}`,
    )
  return value
}

function truth(value: string): boolean {
  if (/^(?:1|t|T|true|TRUE|True)$/.test(value)) return true
  if (/^(?:0|f|F|false|FALSE|False)$/.test(value)) return false
  throw new CliError(`strconv.ParseBool: parsing ${JSON.stringify(value)}: invalid syntax`)
}

function setTop(config: RawConfig, path: string, section: string, rest: readonly string[], value: string | undefined): void {
  const isPreference = section === 'preferences' && (rest.length === 0 ? value === undefined : rest[0] === 'colors')
  if (!isPreference && (section !== 'current-context' || rest.length > 0))
    throw new CliError(`unable to parse ${path} after [] at api.Config`)
  if (section === 'current-context') config[section] = value ?? ''
  else if (rest.length === 0) delete config[section]
  else config[section] = value === undefined || !truth(value) ? {} : { colors: true }
}
