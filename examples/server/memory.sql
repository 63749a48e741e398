-- What an administrator does once. The role is no superuser, so that row-level security holds for it.
CREATE ROLE memory LOGIN PASSWORD 'change me';
CREATE DATABASE memory OWNER memory;
