/**
 * What the published package brings along: `node scripts/sbom.ts` writes `lib/sbom.cdx.json` (CycloneDX 1.6) and `lib/LICENSES.md`, from
 * the lock file and what is installed. Packing does it too.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..')

type Locked = {
  version?: string
  license?: string
  integrity?: string
  optional?: boolean
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}
type Lock = { packages: Record<string, Locked> }

export type ShippedPackage = { name: string; version: string; license: string; integrity: string; isOptional: boolean; path: string }

/** Everything that is installed with the package, whoever asked for it; nothing that only its making or this repository needs. */
export function shippedPackages(lock: Lock): ShippedPackage[] {
  const shipped = dependenciesOf(lock)
  return Object.entries(lock.packages)
    .filter(([path]) => shipped.has(path))
    .map(([path, { version = '', license = '', integrity = '', optional = false }]) => ({
      ...{ name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), version, license, integrity },
      ...{ isOptional: optional, path },
    }))
    .sort((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0))
}

/** The places of all that the package depends on, looked for as Node does: in the nearest node_modules above. */
function dependenciesOf({ packages }: Lock): Set<string> {
  const found = new Set<string>()
  const visit = (from: string) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[from] ?? {}
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      let place = from
      while (place !== '' && packages[`${place}/node_modules/${name}`] === undefined) {
        place = place.includes('/node_modules/') ? place.slice(0, place.lastIndexOf('/node_modules/')) : ''
      }
      const path = place === '' ? `node_modules/${name}` : `${place}/node_modules/${name}`
      if (packages[path] === undefined || found.has(path)) continue
      found.add(path)
      visit(path)
    }
  }
  visit('')
  return found
}

export function cycloneDx(product: { name: string; version: string; license: string }, packages: readonly ShippedPackage[]): object {
  const purl = (name: string, version: string) => `pkg:npm/${name.replace('@', '%40')}@${version}`
  const root = {
    type: 'application',
    'bom-ref': purl(product.name, product.version),
    ...product,
    purl: purl(product.name, product.version),
  }
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { ...root, license: undefined, licenses: [{ license: { id: product.license } }] } },
    components: packages.map(({ name, version, license, integrity, isOptional }) => ({
      type: 'library',
      'bom-ref': purl(name, version),
      name,
      version,
      purl: purl(name, version),
      scope: isOptional ? 'optional' : 'required',
      licenses: [{ license: { id: license } }],
      ...(integrity.startsWith('sha512-')
        ? { hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex') }] }
        : {}),
    })),
  }
}

export function licenseList(packages: readonly ShippedPackage[], textOf: (path: string) => string): string {
  const rows = packages.map(({ name, version, license }) => `| ${name} | ${version} | ${license} |`)
  const texts = packages
    .map(({ name, version, path }) => ({ name, version, text: textOf(path) }))
    .filter(({ text }) => text !== '')
    .map(({ name, version, text }) => `## ${name} ${version}\n\n\`\`\`text\n${text.trim()}\n\`\`\``)
  return ['# Licences of what is shipped', '', '| package | version | licence |', '| --- | --- | --- |', ...rows, '', ...texts, ''].join(
    '\n',
  )
}

/** As it stands in the package; empty where it has none. */
function licenseText(path: string): string {
  const directory = join(repository, path)
  if (!existsSync(directory)) return ''
  const name = readdirSync(directory).find((each) => /^licen[cs]e/i.test(each))
  return name === undefined ? '' : readFileSync(join(directory, name), 'utf8')
}

export function writeBillOfMaterials(to: string): void {
  const read = (name: string) => JSON.parse(readFileSync(join(repository, name), 'utf8'))
  const { name, version, license } = read('package.json') as { name: string; version: string; license: string }
  const packages = shippedPackages(read('package-lock.json') as Lock)
  mkdirSync(to, { recursive: true })
  writeFileSync(join(to, 'sbom.cdx.json'), `${JSON.stringify(cycloneDx({ name, version, license }, packages), undefined, 2)}\n`)
  writeFileSync(join(to, 'LICENSES.md'), licenseList(packages, licenseText))
}

if (import.meta.main) writeBillOfMaterials(join(repository, 'lib'))
