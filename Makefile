# The entry points. Those that build do their own set-up first (scripts/setup).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.NOTPARALLEL:
.DEFAULT_GOAL := help

# The MPI library that `tune` and `driver` use, and the two that `test` uses.
MPICC ?= mpicc
MPICC_OPENMPI ?= mpicc.openmpi
MPICC_MPICH ?= mpicc.mpich

# Where `install` puts things; DESTDIR is put before it for packaging.
PREFIX ?= /usr/local
DESTDIR ?=

# In CI the build outlives the checkout if the home directory does; nothing relies on it.
override CI := $(filter-out 0 false,$(CI))
CACHE := $(if $(CI),$(shell { d="$${HOME:?}/.cache/colltune/target" && mkdir -p "$$d" && echo "$$d"; } 2>/dev/null))
export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CACHE),$(CURDIR)/target)
export MPICC_OPENMPI MPICC_MPICH
ifneq ($(CI),)
export CI
else
unexport CI
endif

RELEASE := $(CARGO_TARGET_DIR)/release
COLLTUNE := $(RELEASE)/colltune

.PHONY: help setup tune bench driver quick test test-long release build install packages

help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 18

setup: ## install what `make tune` needs and the machine lacks
	@MPICC='$(MPICC)' scripts/setup tune

tune: setup ## measure this machine: writes tables/quickstart.yaml and reports/quickstart.*
	cargo build --release -p cli
	@library=$$(scripts/driver '$(MPICC)'); \
	compiler=$$(command -v '$(MPICC)'); \
	PATH=$${compiler%/*}:$$PATH '$(COLLTUNE)' tune tuning/quickstart.yaml --library "$$library"
	@printf '\nThe command is %s\n' '$(COLLTUNE)'

bench: setup ## measure the cost of executing a schedule, and of a call through libcolltune.so
	scripts/bench '$(MPICC)'
	scripts/overhead '$(MPICC)'

driver: setup ## build the measuring program and libcolltune.so for one library, MPICC=mpicc
	@scripts/driver '$(MPICC)' >/dev/null

quick: ## check formatting, run clippy and the tests without MPI of what differs from the last commit
	@scripts/setup test
	@scripts/quick

test: ## run every check and test, under Open MPI and MPICH
	@scripts/setup test
	scripts/test

test-long: ## what takes too long for `test`, an hour; exits with an error if anything is found
	@scripts/setup test
	scripts/test-long

release: ## set version, changelog and fixtures of a release: VERSION=0.2.0, or with DRY_RUN=1 only show that
	@env -u COLLTUNE scripts/release '$(VERSION)' $(if $(filter-out 0 false,$(DRY_RUN)),--dry-run)

build: setup ## build everything that `make install` installs
	@scripts/driver '$(MPICC)' >/dev/null
	cargo build --release -p cli

install: build ## install under PREFIX=/usr/local, with what was built for MPI libraries
	scripts/install '$(COLLTUNE)' '$(PREFIX)' '$(DESTDIR)' '$(CARGO_TARGET_DIR)'/lib/colltune/*

packages: ## make a .deb for Debian's MPI libraries and an .rpm of the command alone, in target/packages
	@scripts/setup packages
	scripts/packages/all
