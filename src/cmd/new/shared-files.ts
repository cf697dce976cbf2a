import type { Project, ProjectNames } from '#cmd/new/project.ts'
import { version } from '#cmd/version.ts'

/** What every project has beside its code. */
export function sharedFiles({ name }: ProjectNames, { summary }: Project): Record<string, string> {
  const packageJson = {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    scripts: { start: 'node src/main.ts', test: 'node --test "test/**/*.test.ts"', check: 'tsc --noEmit' },
    dependencies: { typernetes: `^${version}` },
    devDependencies: { '@types/node': '^26.0.0', typescript: '^7.0.0' },
  }
  const compilerOptions = {
    ...{ target: 'esnext', module: 'nodenext', lib: ['esnext'], types: ['node'], strict: true, exactOptionalPropertyTypes: true },
    ...{ noUncheckedIndexedAccess: true, noEmit: true, allowImportingTsExtensions: true, erasableSyntaxOnly: true, skipLibCheck: true },
  }
  return {
    'package.json': `${JSON.stringify(packageJson, null, 2)}\n`,
    'tsconfig.json': `${JSON.stringify({ compilerOptions, include: ['src', 'test'] }, null, 2)}\n`,
    '.gitignore': 'node_modules/\n',
    Dockerfile: `FROM node:26-slim
WORKDIR /app
COPY package.json ./
RUN npm install --omit=dev
COPY src ./src
USER node
CMD ["node", "src/main.ts"]
`,
    'README.md': `# ${name}

${summary}

- \`npm test\` runs it on a whole cluster inside the test's process, in virtual time: nothing to install, nothing to wait for.
- \`npm run check\` checks types.
- \`npm start\` runs it against the cluster that kubectl talks to.
- \`docker build -t ${name} .\` and \`kubectl apply -f manifests/\` run it in a cluster.

There is no build step: Node runs TypeScript as it is.
`,
  }
}

/** A namespace, an account with these permissions, and a Deployment that works with it. */
export function inClusterManifest(
  { name }: ProjectNames,
  rules: readonly object[],
  ports: readonly { name: string; port: number }[],
): string {
  const account = { kind: 'ServiceAccount', name, namespace: name }
  const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
  const labels = { app: name }
  const container = {
    name: 'main',
    image: `${name}:latest`,
    imagePullPolicy: 'IfNotPresent',
    ports: ports.map(({ name: portName, port }) => ({ name: portName, containerPort: port })),
  }
  const objects = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: name } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name }, subjects: [account], roleRef: role },
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: name },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { serviceAccountName: name, containers: [container] } },
      },
    },
  ]
  const service = {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: name } },
    spec: { selector: labels, ports: [{ name: 'https', port: 443, targetPort: 'https' }] },
  }
  const all = ports.some((each) => each.name === 'https') ? [...objects, service] : objects
  return `${JSON.stringify({ apiVersion: 'v1', kind: 'List', items: all }, null, 2)}\n`
}

export const leaseRule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update', 'patch'] }
export const eventRule = { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] }
export const definitionRule = {
  apiGroups: ['apiextensions.k8s.io'],
  resources: ['customresourcedefinitions'],
  verbs: ['get', 'list', 'watch', 'create', 'patch'],
}
